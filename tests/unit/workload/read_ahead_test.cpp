#include "sim/workload/read_ahead.h"

#include "sim/core/errors.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

// Numbers 0, 1, ..., n - 1; then an end or an error.
class Numbers final : public RequestSource {
 public:
  Numbers(std::uint64_t n, bool fails) : n_(n), fails_(fails) {}
  std::optional<Request> next() override {
    if (at_ == n_ && fails_) throw InputError("line " + std::to_string(n_));
    if (at_ == n_) return std::nullopt;
    Request request;
    request.id = at_++;
    return request;
  }
  std::int64_t size_hint() const override { return static_cast<std::int64_t>(n_); }

 private:
  std::uint64_t n_, at_ = 0;
  bool fails_;
};

}  // namespace

TEST_CASE("a source read ahead gives the same requests", "[unit][workload]") {
  for (const std::uint64_t n : {0u, 1u, 1024u, 1025u, 30'000u}) {
    const auto source = read_ahead(std::make_unique<Numbers>(n, false));
    REQUIRE(source->size_hint() == static_cast<std::int64_t>(n));
    for (std::uint64_t i = 0; i < n; ++i) REQUIRE(source->next()->id == i);
    REQUIRE_FALSE(source->next().has_value());
    REQUIRE_FALSE(source->next().has_value());
  }
}

TEST_CASE("an error of the source comes where its request would have", "[unit][workload]") {
  const auto source = read_ahead(std::make_unique<Numbers>(5000, true));
  for (std::uint64_t i = 0; i < 5000; ++i) REQUIRE(source->next()->id == i);
  REQUIRE_THROWS_AS(source->next(), InputError);
}

TEST_CASE("a source read ahead may be given up at any time", "[unit][workload]") {
  const auto source = read_ahead(std::make_unique<Numbers>(1'000'000, false));
  REQUIRE(source->next()->id == 0);
}
