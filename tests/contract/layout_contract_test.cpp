// INV-1 to INV-7 of every scheduler (scheduler_contract_test.cpp) over models whose layers keep
// latents, windows, compressed entries or states, or read each other's cache.
#include "sim/core/errors.h"
#include "tests/contract/scheduler_case.h"
#include "tests/support/catch.h"

using namespace headway;
using namespace headway::contract;

namespace {
constexpr std::uint64_t kCases = 400;
}

TEST_CASE("every scheduler keeps INV-1 to INV-6 whatever the layers keep",
          "[contract][scheduling][layout]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    for (const auto& [name, model] : small_models()) {
      for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
        const SchedulerCase c = draw_case(row.name, seed, model);
        std::string failure;
        try {
          const std::uint64_t first = run_case(c, seed);
          if (run_case(c, seed) != first) failure = "INV-7: two runs differ";
        } catch (const std::exception& error) {
          failure = error.what();
        }
        INFO(name << ", seed " << seed << "\n" << describe(c));
        REQUIRE(failure == "");
      }
    }
  }
}
