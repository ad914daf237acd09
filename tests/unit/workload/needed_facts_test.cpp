#include "sim/workload/needed_facts.h"

#include "tests/support/catch.h"

using namespace headway;

namespace {

// `count` requests, of which the one of that number has a priority.
class Numbered : public RequestSource {
 public:
  Numbered(std::uint64_t count, std::uint64_t with) : count_(count), with_(with) {}
  std::optional<Request> next() override {
    if (next_ == count_) return std::nullopt;
    Request r;
    r.id = next_++;
    r.priority = r.id == with_ ? 5 : 0;
    return r;
  }
  std::int64_t size_hint() const override { return static_cast<std::int64_t>(count_); }

 private:
  std::uint64_t count_, with_, next_ = 0;
};

constexpr std::uint64_t kNone = UINT64_MAX;

std::unique_ptr<RequestSource> checked(std::uint64_t count, std::uint64_t with) {
  return with_needed_fact(std::make_unique<Numbered>(count, with),
                          [](const Request& r) { return r.priority != 0; },
                          {"a.json", "cluster.router", "none", "some"});
}

}  // namespace

TEST_CASE("a source with the needed fact gives the same requests", "[unit][workload]") {
  for (const std::uint64_t with : {0UL, 3UL, 11'000UL}) {
    auto source = checked(11'001, with);
    CHECK(source->size_hint() == 11'001);
    for (std::uint64_t id = 0; id < 11'001; ++id) REQUIRE(source->next()->id == id);
    CHECK_FALSE(source->next());
    CHECK_FALSE(source->next());
  }
}

TEST_CASE("a source without it is refused: before the first request, or at its end",
          "[unit][workload]") {
  CHECK_THROWS_WITH(checked(50, kNone), ContainsSubstring("cluster.router"));
  CHECK_THROWS_AS(checked(0, kNone), InputError);
  auto longer = checked(kLookAhead + 1, kNone);
  for (std::size_t i = 0; i <= kLookAhead; ++i) REQUIRE(longer->next());
  CHECK_THROWS_AS(longer->next(), InputError);
}
