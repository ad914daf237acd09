#include "sim/routing/dp_balancer.h"

#include <vector>

#include "tests/support/catch.h"

using namespace headway;

namespace {

std::vector<std::size_t> choices(DpBalancer& balancer, std::size_t count, SimTime now) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(balancer.choose(now));
  return out;
}

}  // namespace

TEST_CASE("what was sent since the last publication counts as waiting, the first of equals is chosen",
          "[unit][routing]") {
  DpBalancer balancer(3);
  CHECK(choices(balancer, 7, SimTime()) == std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0});
}

TEST_CASE("a waiting request weighs as four that run", "[unit][routing]") {
  DpBalancer balancer(2);
  balancer.report(0, 0, 7, SimTime());
  balancer.report(1, 1, 0, SimTime());
  // Scores 7 and 4: the second takes one (8), then the first (11), then the second.
  CHECK(choices(balancer, 3, SimTime::from_ms(1)) == std::vector<std::size_t>{1, 0, 1});
}

TEST_CASE("counts are published when they change, at most every 100 ms", "[unit][routing]") {
  DpBalancer balancer(2);
  balancer.report(0, 0, 9, SimTime());                  // published at once: nothing was before
  CHECK(balancer.choose(SimTime::from_ms(10)) == 1);    // 9 against 0
  balancer.report(0, 0, 0, SimTime::from_ms(20));       // due at 100 ms
  balancer.report(1, 0, 3, SimTime::from_ms(60));       // the same publication
  CHECK(balancer.choose(SimTime::from_ms(100)) == 1);   // 9 against 4, still
  CHECK(balancer.choose(SimTime::from_ms(101)) == 0);   // 0 against 3
  CHECK(balancer.choose(SimTime::from_ms(101)) == 1);   // 4 against 3
  balancer.report(0, 0, 50, SimTime::from_ms(150));
  CHECK(balancer.choose(SimTime::from_ms(199)) == 0);   // 4 against 7; 200 ms is when it is due
  CHECK(balancer.choose(SimTime::from_ms(201)) == 1);   // 50 against 3
}
