#include "sim/replica/longest_gap.h"

#include <algorithm>
#include <vector>

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("the longest gap since any step, as by looking at each", "[unit][replica]") {
  LongestGap gaps;
  std::vector<SimTime> all;
  RandomStream random(5, "gaps");
  for (std::uint64_t step = 0; step < 2000; ++step) {
    all.push_back(SimTime::from_ns(static_cast<std::int64_t>(random.uniform() * 300)));
    gaps.add(step, all.back());
    const auto since = static_cast<std::uint64_t>(random.uniform() * static_cast<double>(step));
    REQUIRE(gaps.since(since) ==
            *std::max_element(all.begin() + static_cast<std::ptrdiff_t>(since), all.end()));
  }
}
