#include "sim/report/pareto.h"

#include <cmath>

#include "tests/support/catch.h"

namespace headway {
namespace {

std::vector<std::string> labels(const std::vector<ParetoPoint>& points) {
  std::vector<std::string> out;
  for (const ParetoPoint& point : points) out.push_back(point.label);
  return out;
}

TEST_CASE("Pareto front: what another beats in both is left out, by GPU count", "[unit]") {
  const auto front = pareto_front({{"slow and busy", {1, 10, 900}, true},
                                   {"beaten", {1, 20, 400}, true},
                                   {"middle", {1, 20, 500}, true},
                                   {"fast and idle", {1, 90, 50}, true},
                                   {"two", {2, 15, 100}, true},  // beaten by none with two GPUs
                                   {"its equal", {2, 15, 100}, true}});
  CHECK(labels(front) ==
        std::vector<std::string>{"slow and busy", "middle", "fast and idle", "two", "its equal"});
}

TEST_CASE("Pareto front: what is no trade is no point", "[unit]") {
  CHECK(pareto_front({}).empty());
  CHECK(pareto_front({{"nothing", {1, 0, 10}, true},
                      {"no number", {1, NAN, 10}, true},
                      {"endless", {1, INFINITY, 10}, true}})
            .empty());
  const auto front = pareto_front({{"a", {1, 10, 10}, true}, {"same speed, more work", {1, 10, 20}, false}});
  CHECK(labels(front) == std::vector<std::string>{"same speed, more work"});
}

}  // namespace
}  // namespace headway
