// What every row of the scheduler table promises (scheduling/scheduler.h), on small random
// workloads. A new policy is covered by its row alone. To repeat a failure, run its seed.
#include <set>

#include "sim/core/errors.h"
#include "tests/contract/scheduler_case.h"
#include "tests/support/catch.h"

using namespace headway;
using namespace headway::contract;

namespace {
constexpr std::uint64_t kCases = 4000;
}

TEST_CASE("every scheduler keeps INV-1 to INV-6 and plans the same from the same input",
          "[contract][scheduling]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
      const SchedulerCase c = draw_case(row.name, seed);
      std::string failure;
      try {
        const std::uint64_t first = run_case(c, seed);
        if (run_case(c, seed) != first) failure = "INV-7: two runs differ";
      } catch (const std::exception& error) {
        failure = error.what();
      }
      INFO("seed " << seed << "\n" << describe(c));
      REQUIRE(failure == "");
    }
  }
}

TEST_CASE("scheduler names are unique, helped and suggested", "[contract][scheduling]") {
  std::set<std::string_view> names;
  for (const SchedulerEntry& row : scheduler_table()) {
    REQUIRE(names.insert(row.name).second);
    REQUIRE_FALSE(row.help.empty());
  }
  SchedulerConfig config;
  config.engine.scheduler = "vlm-v1";
  REQUIRE_THROWS_WITH(make_scheduler(config), ContainsSubstring("engine.scheduler") &&
                                                  ContainsSubstring("did you mean vllm-v1?"));
}
