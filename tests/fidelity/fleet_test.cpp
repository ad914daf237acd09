// Fleets of several pools: closed forms, and that alike pools are no pools.
#include <algorithm>

#include "sim/metrics/pool_metrics.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"
#include "tests/support/fleet_bench.h"

using namespace headway;

TEST_CASE("each pool's replicas take their own time", "[fidelity][fleet]") {
  BenchEngine bench;
  bench.workload().num_prompts = 30;
  bench.workload().request_rate = 10;
  bench.workload().burstiness = 1e9;  // one every 100 ms: each is served alone
  FleetBench fleet(bench, {1, 2});
  fleet.pools[1].cost = std::make_shared<FixedCost>(3000.0, 0.0, 0.0);
  Finished finished;
  PoolMetrics sums({1, 2});
  Observer* observers[] = {&finished, &sums};
  const RunOutcome outcome = fleet.run(observers);
  REQUIRE(finished.records.size() == 30);
  for (const RequestRecord& r : finished.records) {
    CHECK(r.replica == r.id % 3);  // round-robin through the pools
    CHECK(r.finish - r.arrival == SimTime::from_ms(r.replica == 0 ? 1 : 3));
  }
  const std::vector<PoolSummary> pools = sums.result(SimTime::from_seconds(1));
  REQUIRE(pools.size() == 2);
  CHECK(pools[0].completed == 10);
  CHECK(pools[1].completed == 20);
  CHECK(pools[0].engine.busy_s == Approx(10 * 0.001));
  CHECK(pools[1].engine.busy_s == Approx(20 * 0.003));
  CHECK(pools[1].engine.replicas == 2);
  REQUIRE(outcome.pools.size() == 2);
  CHECK(outcome.pools[1].provisioned_s == Approx(2 * outcome.end.seconds()));
}

TEST_CASE("pools of one kind are as replicas without pools", "[fidelity][fleet]") {
  for (const char* router : {"round-robin", "least-outstanding", "random"}) {
    BenchEngine bench = busy_engine("vllm-v1");
    bench.scenario.cluster.router = router;
    bench.scenario.cluster.replicas = 4;
    const FleetBench fleet(bench, {1, 3});
    CHECK(fleet.run({}).fingerprint == bench.run({}).fingerprint);
  }
}

TEST_CASE("a pool of data-parallel ranks beside one of lone engines", "[fidelity][fleet]") {
  for (const bool in_step : {false, true}) {
    BenchEngine bench = busy_engine("vllm-v1");
    bench.scenario.cluster.router = "least-outstanding";
    FleetBench fleet(bench, {1, 2, 1});
    fleet.pools[1].data_parallel_size = 2;
    fleet.pools[1].replica.in_step = in_step;
    Finished finished;
    Observer* observers[] = {&finished};
    RunOptions options;
    options.check_every_event = true;
    fleet.run(observers, options);
    std::vector<int> served(6);
    for (const RequestRecord& r : finished.records) ++served.at(r.replica);
    CHECK(finished.records.size() == 300);
    CHECK(std::count(served.begin(), served.end(), 0) == 0);
  }
}

TEST_CASE("INV-7 INV-8: pools of different engines", "[fidelity][fleet][skip]") {
  const auto outcome = [](bool step_by_step) {
    BenchEngine bench = busy_engine("vllm-v1");
    bench.scenario.cluster.router = "least-outstanding";
    FleetBench fleet(bench, {1, 2});
    fleet.pools[1] = busy_engine("sglang").blueprint;
    fleet.pools[1].cost = std::make_shared<FixedCost>(1000.0, 5.0, 20.0);
    RunOptions options;
    options.step_by_step = step_by_step;
    return fleet.run({}, options);
  };
  const RunOutcome ahead = outcome(false);
  CHECK(ahead.fingerprint == outcome(false).fingerprint);
  CHECK(ahead.fingerprint == outcome(true).fingerprint);
  CHECK(ahead.end == outcome(true).end);
  CHECK(ahead.steps_skipped > 0);
}
