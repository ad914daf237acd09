// The search for a load against a fine grid made by hand.
#include "sim/study/capacity.h"

#include <cmath>

#include "sim/core/errors.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

Scenario small_scenario(const std::string& more = "") {
  return parse_scenario(R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "profile": "roofline",
    "workload": {"num_prompts": 300, "request_rate": 4, "input_len": 800,
      "output_len": {"distribution": "uniform", "low": 20, "high": 200}})" + more + "}", "");
}

CapacityOptions options_of(const char* slo, CapacityAxis axis = CapacityAxis::kRate) {
  CapacityOptions o;
  o.axis = axis;
  o.requirements.targets.push_back(parse_slo_target(slo));
  o.seeds = 3;
  return o;
}

// The last rate of a grid of `ratio` at which draw `seed` of the workload is good.
double by_grid(const Scenario& scenario, std::uint64_t seed, const CapacityOptions& options,
               double from, double to, double ratio) {
  double last = 0;
  for (double rate = from; rate < to; rate *= ratio) {
    CapacityOptions one = options;
    one.seeds = 1;
    Scenario s = scenario;
    s.seed += seed;
    s.workload.request_rate = rate;
    one.low = rate;  // a search that may not move: always or never good
    one.high = rate * (1 + 1e-9);
    try {
      find_capacity(s, one);
      last = rate;
    } catch (const StudyError&) {
      // missed; near the edge a p99 of some hundred requests may hold again further on
    }
  }
  return last;
}

}  // namespace

TEST_CASE("capacity: the search finds what a fine grid finds, in far fewer runs", "[fidelity]") {
  const Scenario scenario = small_scenario();
  CapacityOptions options = options_of("ttft:p99:200");
  const CapacityAnswer answer = find_capacity(scenario, options);
  REQUIRE(answer.kind == Edge::Kind::kFound);
  CHECK(answer.at.summary.ttft_ms.p99 <= 200);
  CHECK_FALSE(answer.beyond.miss.empty());
  CHECK(answer.low <= answer.load);
  CHECK(answer.load <= answer.high);
  CHECK(answer.odd.empty());
  double grid = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    grid += by_grid(scenario, seed, options, answer.load / 1.5, answer.load * 1.5, 1.01) / 3;
  }
  CHECK(grid >= answer.low);
  CHECK(grid <= answer.high);
  CHECK(answer.runs < 3 * 82 / 4);  // the grid's: three draws of 82 rates
}

// As in the whole trace (docs/planner.md), with its first requests and a grid of 60 rates.
TEST_CASE("capacity: a recorded trace's peak rate is where a fine grid has it", "[fidelity]") {
  Scenario scenario = load_scenario("demo");
  limit_requests(scenario, 1000);
  CapacityOptions options = options_of("ttft:p99:2000");
  options.requirements.targets.push_back(parse_slo_target("tpot:p99:60"));
  options.seeds = 1;  // nothing is drawn
  const CapacityAnswer answer = find_capacity(scenario, options);
  REQUIRE(answer.kind == Edge::Kind::kFound);
  constexpr int kRates = 60;
  double last_good = 0, first_bad = 0;
  scenario.workload.rate_scale = answer.load * std::pow(1.01, -kRates / 2);
  for (int i = 0; i < kRates; ++i, scenario.workload.rate_scale *= 1.01) {
    const bool good = run_at_own_load(scenario, options).miss.empty();
    if (good) last_good = scenario.workload.rate_scale;
    if (!good && first_bad == 0) first_bad = scenario.workload.rate_scale;
  }
  // One edge, and both intervals hold it.
  CHECK(last_good < first_bad);
  CHECK(answer.low < first_bad);
  CHECK(last_good < answer.high);
  CHECK(answer.runs <= kRates / 3);  // however fine the grid: of 150 rates a tenth
}

TEST_CASE("capacity: the fewest replicas hold the load and one fewer does not", "[fidelity]") {
  Scenario scenario = small_scenario(R"(, "cluster": {"router": "least-outstanding"})");
  scenario.workload.request_rate = 60;
  const CapacityAnswer answer =
      find_capacity(scenario, options_of("ttft:p99:200", CapacityAxis::kReplicas));
  REQUIRE(answer.kind == Edge::Kind::kFound);
  CHECK(answer.load > 1);
  CHECK(answer.beyond.load == answer.by_seed.front() - 1);
  CHECK(answer.gpus == static_cast<std::int32_t>(answer.load));
}

TEST_CASE("capacity: an SLO that is never met, one that always is, and work that is spent",
          "[fidelity]") {
  const Scenario scenario = small_scenario();
  try {
    find_capacity(scenario, options_of("ttft:p99:0.001"));
    FAIL("met");
  } catch (const StudyError& e) {
    CHECK(e.exit_code() == 4);
    CHECK_THAT(e.what(), ContainsSubstring("never met") && ContainsSubstring("p99 TTFT"));
  }
  CapacityOptions always = options_of("ttft:p99:200000");
  always.requirements.targets.front().limit_ms = 1e9;
  always.high = 6;  // no backlog grows up to here
  CHECK(find_capacity(scenario, always).kind == Edge::Kind::kAlwaysMet);
  CapacityOptions few = options_of("ttft:p99:200");
  few.max_runs = 3;
  try {
    find_capacity(scenario, few);
    FAIL("found");
  } catch (const StudyError& e) {
    CHECK(e.exit_code() == 3);
    CHECK_THAT(e.what(), ContainsSubstring("within 3 runs"));
  }
  CHECK_THROWS_AS(find_capacity(small_scenario(), options_of("ttft:p99:nan")), InputError);
}

TEST_CASE("capacity: a closed loop has no rate to look for", "[fidelity]") {
  Scenario scenario = small_scenario();
  scenario.workload.max_concurrency = 8;
  CHECK_THROWS_WITH(find_capacity(scenario, options_of("ttft:p99:200")),
                    ContainsSubstring("--find concurrency"));
}

TEST_CASE("capacity: a fleet that scales by itself has no number of replicas to look for",
          "[fidelity]") {
  const Scenario scenario =
      small_scenario(R"(, "cluster": {"autoscaler": {"max_replicas": 4, "target": 8}})");
  CHECK_THROWS_WITH(find_capacity(scenario, options_of("ttft:p99:200", CapacityAxis::kReplicas)),
                    ContainsSubstring("cluster.autoscaler"));
}

TEST_CASE("an SLO on the command line is checked piece by piece", "[unit][study]") {
  CHECK(describe(parse_slo_target("tpot:mean:50")) == "mean TPOT <= 50 ms");
  for (const char* bad : {"", "ttft", "ttft:p99", "ttft:p99:", "ttft:p99:-1", "ttft:p99:0",
                          "ttft:p99:nan", "ttft:p99:inf", "ttft:p99:5x", "tftt:p99:5",
                          "ttft:p98:5"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_slo_target(bad), InputError);
  }
  CHECK_THROWS_WITH(parse_slo_target("tftt:p99:5"), ContainsSubstring("did you mean ttft?"));
}
