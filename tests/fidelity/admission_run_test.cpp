// The gateway within a run: who waits, and who gives up.
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"
#include "tests/support/fleet_bench.h"

using namespace headway;

TEST_CASE("who gives up does so on time, though one before it was let in", "[fidelity][fleet]") {
  // 100 ms of service, one at a time; one request every 10 ms, from 10 ms on.
  BenchEngine bench;
  bench.workload().num_prompts = 3;
  bench.workload().request_rate = 100;
  bench.workload().burstiness = 1e9;
  bench.workload().output_len.value = 100;
  bench.scenario.cluster.admission.max_outstanding = 1;
  bench.scenario.cluster.admission.max_wait_s = 0.15;
  Finished finished;
  Observer* observers[] = {&finished};
  RunOptions options;
  options.check_every_event = true;
  simulate(bench.scenario, bench.blueprint, observers, options);
  REQUIRE(finished.records.size() == 3);
  CHECK(finished.records[0].finish.ms() == Approx(110).margin(0.1));
  const RequestRecord& gave_up = finished.records[1];
  CHECK(gave_up.id == 2);
  CHECK(gave_up.failed);
  CHECK(gave_up.finish - gave_up.arrival == SimTime::from_ms(150));
  CHECK(finished.records[2].id == 1);
  CHECK(finished.records[2].finish.ms() == Approx(210).margin(0.1));
}
