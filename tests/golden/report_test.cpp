// A small run, byte for byte: what a person reads, and the fingerprint of its events. When a change
// is meant to move them, the new text is in the failure message.
#include "sim/cluster/simulation.h"
#include "sim/core/input_file.h"
#include "sim/metrics/run_metrics.h"
#include "sim/report/terminal_block.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("golden: the report of a small run", "[golden]") {
  const std::string folder = HEADWAY_SOURCE_DIR "/tests/golden/";
  const Scenario scenario = load_scenario(folder + "small_run.json");
  RunMetrics metrics({{scenario.slo.ttft_ms, scenario.slo.tpot_ms, scenario.slo.e2el_ms}, false});
  Observer* observers[] = {&metrics};
  const RunOutcome outcome = simulate(scenario, observers);
  RunInfo info;
  info.model_id = scenario.model_name;
  info.num_gpu_blocks = outcome.budget.num_gpu_blocks;
  const RunSummary summary = metrics.result();
  const std::string text = serving_block(summary, info) + headway_block(summary, info) +
                           "events " + std::to_string(outcome.events) + ", steps " +
                           std::to_string(outcome.steps) + ", fingerprint " +
                           std::to_string(outcome.fingerprint) + "\n";
  CHECK(text == read_whole_file(folder + "small_run.txt"));
}
