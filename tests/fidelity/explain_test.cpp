// `headway explain`: the pieces of a life sum to the request's E2EL (INV-3), whatever the engine.
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/metrics/request_life.h"
#include "sim/scenario/parse.h"
#include "sim/scheduling/scheduler.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

// How many requests were checked; the pieces of each follow one another and sum to its split.
std::int64_t check_lives(const std::vector<RequestLife>& lives) {
  for (const RequestLife& life : lives) {
    const RequestRecord& r = life.record;
    INFO("request " << r.id);
    LatencySplit sum{};
    SimTime at = r.arrival;
    for (const LifePiece& piece : life.pieces) {
      CHECK(piece.from == at);
      CHECK(piece.to >= piece.from);
      at = piece.to;
      SimTime parts;
      for (std::size_t i = 0; i < kLatencyParts; ++i) {
        sum[i] += piece.split[i];
        parts += piece.split[i];
      }
      CHECK(parts == piece.to - piece.from);
      if (piece.phase != LifePhase::kInLine) continue;
      SimTime causes;
      for (const SimTime cause : piece.by_cause) causes += cause;
      CHECK(causes == piece.to - piece.from);
    }
    CHECK(at == r.finish);
    CHECK(sum == r.split);
    CHECK(static_cast<std::int32_t>(life.preemptions.size()) <= r.preemptions);
  }
  return static_cast<std::int64_t>(lives.size());
}

std::int64_t check_run(const Scenario& scenario, const std::vector<Blueprint>& pools) {
  LifeObserver observer;
  const std::array<Observer*, 1> observers = {&observer};
  const RunOutcome outcome = simulate(scenario, pools, observers, {.step_by_step = true});
  CHECK(check_lives(observer.lives()) == outcome.requests);
  return outcome.preemptions;
}

}  // namespace

TEST_CASE("INV-3: lives sum to E2EL under every scheduler, short of everything", "[fidelity]") {
  for (const SchedulerEntry& entry : scheduler_table()) {
    if (entry.diffuses) continue;
    const std::string name(entry.name);
    INFO(name);
    BenchEngine bench = busy_engine(name);
    bench.workload().num_prompts = 80;
    bench.blueprint.scheduler.num_blocks = 100;
    const std::int64_t preemptions = check_run(bench.scenario, {bench.blueprint});
    if (name == "vllm-v1") CHECK(preemptions > 0);
  }
}

// Priced by the roofline, with host times: reading measured tables for each would take most of the time.
TEST_CASE("INV-3: lives sum to E2EL in every scenario under every scheduler", "[fidelity]") {
  std::int64_t runs = 0;
  const std::filesystem::path root = std::string(HEADWAY_SOURCE_DIR) + "/scenarios";
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (file.path().extension() != ".json") continue;
    for (const SchedulerEntry& entry : scheduler_table()) {
      const std::array<Assignment, 4> changes = {{{"engine.scheduler", std::string(entry.name)},
                                                  {"profile", "roofline"},
                                                  {"host.per_step_us", "200"},
                                                  {"host.per_request_us", "3000"}}};
      INFO(file.path().string() << " under " << entry.name);
      try {
        Scenario scenario = load_scenario(file.path().string(), changes);
        limit_requests(scenario, 12);
        check_run(scenario, make_blueprints(scenario));
        ++runs;
      } catch (const InputError&) {
        continue;  // not every scenario can run under every scheduler
      }
    }
  }
  CHECK(runs > 200);
}
