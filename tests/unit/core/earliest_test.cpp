#include "sim/core/earliest.h"

#include <algorithm>
#include <vector>

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("the earliest of any number of instants, the lower number among equals", "[unit][core]") {
  for (std::size_t n : {1u, 2u, 3u, 5u, 8u, 64u, 100u}) {
    Earliest earliest(n);
    std::vector<SimTime> times(n, SimTime::never());
    REQUIRE(earliest.first_time() == SimTime::never());
    RandomStream random(n, "earliest");
    for (int i = 0; i < 2000; ++i) {
      const auto holder = static_cast<std::uint32_t>(random.uniform() * static_cast<double>(n));
      const SimTime time = random.uniform() < 0.1
                               ? SimTime::never()
                               : SimTime::from_ns(static_cast<std::int64_t>(random.uniform() * 50));
      times[holder] = time;
      earliest.set(holder, time);
      const auto first = std::min_element(times.begin(), times.end());
      REQUIRE(earliest.first_time() == *first);
      if (*first == SimTime::never()) continue;
      REQUIRE(earliest.first() == static_cast<std::uint32_t>(first - times.begin()));
    }
  }
}
