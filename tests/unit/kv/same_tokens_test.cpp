// Against token_at, position by position.
#include "sim/kv/same_tokens.h"

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

Request draw_request(RandomStream& draw) {
  const auto pick = [&draw](int lo, int hi) {
    return static_cast<std::int32_t>(draw.uniform_int(lo, hi));
  };
  Request r;
  r.id = static_cast<std::uint64_t>(pick(0, 2));
  r.prompt_tokens = pick(1, 12);
  r.output_tokens = pick(1, 8);
  if (pick(0, 1) == 1) r.session_id = pick(0, 1);
  if (pick(0, 1) == 1) {
    r.prefix_group = pick(0, 1);
    r.prefix_tokens = pick(0, 15);
  }
  r.content_granularity = pick(0, 3);
  for (std::int32_t i = pick(0, 6); i > 0; --i) r.content_ids.push_back(pick(0, 1) == 0 ? 0 : 1);
  for (std::int32_t i = pick(0, 4); i > 0; --i) r.output_ids.push_back(pick(0, 1) == 0 ? 0 : 1);
  return r;
}

}  // namespace

TEST_CASE("the stretch that two texts share is what token_at says", "[unit]") {
  RandomStream draw(11, "same tokens test");
  int shared = 0;
  for (int round = 0; round < 20000; ++round) {
    const Request a = draw_request(draw);
    const Request b = draw_request(draw);
    const auto from = static_cast<std::int32_t>(draw.uniform_int(0, 5));
    const auto to = from + static_cast<std::int32_t>(draw.uniform_int(0, 15));
    std::int32_t expected = from;
    while (expected < to && token_at(a, expected) == token_at(b, expected)) ++expected;
    REQUIRE(same_tokens(a, b, from, to) == expected - from);
    shared += expected - from;
  }
  REQUIRE(shared > 1000);
}
