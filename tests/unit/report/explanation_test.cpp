#include "sim/report/explanation.h"

#include "tests/support/catch.h"

using namespace headway;

namespace {

RunSummary run_with(double queue, double interference, double decode, double preemption) {
  RunSummary run;
  run.completed = 10;
  run.attribution_ms = {queue, 0, interference, decode, preemption, 0};
  run.e2el_ms.mean = queue + interference + decode + preemption;
  run.tpot_ms.mean = 20;
  run.itl_ms.p99 = 90;
  run.engine.mean_batch = 6.5;
  return run;
}

}  // namespace

TEST_CASE("a run is explained by where its latency went", "[unit][report]") {
  RunSummary waits = run_with(900'000, 0, 100'000, 0);
  waits.engine.kv_internal_waste = 0.42;
  CHECK(explain_run(waits) ==
        "90 % of a request's time is waiting for a place (15 min): the GPU runs only 6.5 sequences a "
        "step, 42 % of the KV slots they hold empty.");
  CHECK(explain_run(run_with(0, 250, 750, 0)) ==
        "6.5 sequences a step at 20.0 ms a token; other requests' prompts hold a request up for 25 % "
        "of its time (p99 gap between tokens 90 ms).");
  RunSummary thrashes = run_with(10, 40, 800, 150);
  thrashes.engine.preemptions = 77;
  CHECK_THAT(explain_run(thrashes), ContainsSubstring("77 preemptions take 15 %"));
  CHECK_THAT(explain_run(run_with(30, 20, 950, 0)), ContainsSubstring("waiting takes 3 %"));
  CHECK(explain_run(RunSummary()) == "no request finished.");
}
