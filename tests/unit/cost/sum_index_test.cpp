#include "sim/cost/sum_index.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("sum index: finds what a search finds, wherever the sums lie", "[unit][cost]") {
  RandomStream random(11, "sum-index");
  for (int draw = 0; draw < 200; ++draw) {
    // Close together in some places, far apart in others.
    std::vector<std::int64_t> sums{random.uniform_int(0, 50)};
    const std::int64_t more = random.uniform_int(0, 300);
    for (std::int64_t i = 0; i < more; ++i) {
      sums.push_back(sums.back() + random.uniform_int(1, i % 40 == 0 ? 100'000 : 30));
    }
    const SumIndex index(sums);
    for (int ask = 0; ask < 300; ++ask) {
      std::int64_t sum = random.uniform_int(sums.front(), sums.back());
      if (ask % 3 == 0) {
        sum = sums[static_cast<std::size_t>(random.uniform_int(0, std::ssize(sums) - 1))];
      }
      const auto above = std::upper_bound(sums.begin(), sums.end(), sum);
      const std::int64_t* found =
          index.last_up_to(sums.data(), sum, [](std::int64_t s) { return s; });
      REQUIRE(found == sums.data() + (above - sums.begin() - 1));
    }
  }
}
