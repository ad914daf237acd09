// The same GPUs, each computing prompts and answers, or some for each: who bears more within its
// SLO?
#include <algorithm>
#include <thread>

#include "sim/core/errors.h"
#include "sim/core/number_text.h"
#include "sim/core/parallel.h"
#include "sim/scenario/pools.h"
#include "sim/study/capacity.h"
#include "sim/study/planner/planner.h"

namespace headway {
namespace {

constexpr double kAttainment = 0.9;  // of the requests, as DistServe counts goodput
constexpr double kTolerance = 0.02;

struct Case {
  const char *name, *trace, *tpot_ms;
};
constexpr Case kCases[] = {{"conversation", "azure-2023-conv", "25"},
                           {"conversation", "azure-2023-conv", "100"},
                           {"code", "azure-2023-code", "25"}};

struct Setup {
  std::int32_t prompts = 0;  // replicas that only compute prompts; 0 = all do both
  std::int32_t replicas = 0;
  std::string name() const {
    if (prompts == 0) return std::to_string(replicas) + " do both";
    return std::to_string(prompts) + " for prompts, " + std::to_string(replicas - prompts) +
           " for answers";
  }
};

struct Found {
  double rate = 0;  // 0 = no load has so many requests in the SLO
  RunSummary at;
};

Scenario scenario_of_setup(const std::string& name, const Case& what, const Setup& setup) {
  std::vector<Setting> settings = {{"workload.trace", what.trace}, {"slo.tpot_ms", what.tpot_ms}};
  if (setup.prompts == 0) {
    settings.push_back({"cluster", "{\"replicas\": " + std::to_string(setup.replicas) +
                                       ", \"router\": \"least-outstanding\"}"});
  } else {
    settings.push_back({"cluster.pools.prompts.replicas", std::to_string(setup.prompts)});
    settings.push_back(
        {"cluster.pools.answers.replicas", std::to_string(setup.replicas - setup.prompts)});
  }
  return lecture_scenario(name, settings);
}

Found highest_rate(const Scenario& scenario) {
  CapacityOptions options;
  options.requirements.attainment = kAttainment;
  options.seeds = 1;  // nothing is drawn
  options.tolerance = kTolerance;
  try {
    const CapacityAnswer answer = find_capacity(scenario, options);
    return {shown_load(scenario, options, answer, answer.load), answer.at.summary};
  } catch (const StudyError& error) {
    if (error.exit_code() != 4) throw;
    return {};
  }
}

// Of one case: what its setups bear, the one that does both first.
std::string case_text(const Case& what, const std::vector<Setup>& setups, const Found* found) {
  std::size_t best = 1;
  for (std::size_t i = 2; i < setups.size(); ++i) {
    if (found[i].rate > found[best].rate) best = i;
  }
  const double both = found[0].rate, apart = found[best].rate;
  return std::string(what.name) + " with TPOT <= " + what.tpot_ms +
         " ms: " + (apart > both ? "apart" : "together") + ", " +
         significant(std::max(apart, both), 3) + " requests/s against " +
         significant(std::min(apart, both), 3) + " (apart: " + setups[best].name() + ")";
}

}  // namespace

DemoAnswer run_disaggregation_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  SIM_CHECK(base.slo.ttft_ms && base.cluster.pools.size() == 2);
  std::int32_t replicas = 0;
  for (const PoolOptions& pool : base.cluster.pools) replicas += pool.replicas;
  std::vector<Setup> setups;
  for (std::int32_t prompts = 0; prompts < replicas; ++prompts)
    setups.push_back({prompts, replicas});
  const std::size_t each = setups.size();
  std::vector<Found> found(std::size(kCases) * each);
  parallel_for(
      found.size(), static_cast<int>(std::thread::hardware_concurrency()), [&](std::size_t i) {
        found[i] = highest_rate(scenario_of_setup(name, kCases[i / each], setups[i % each]));
      });

  DemoTable table{"",
                  {{"requests", "TPOT limit, ms", "GPUs", "requests/s", "a GPU", "TTFT p90, ms",
                    "TPOT p90, ms"}}};
  Chart chart{"Highest rate with " + fixed(100 * kAttainment, 0) + " % of requests in the SLO",
              "GPUs that only compute prompts (0: all do both)", "requests/s"};
  DemoAnswer demo;
  for (std::size_t c = 0; c < std::size(kCases); ++c) {
    const Case& what = kCases[c];
    chart.series.push_back(
        {std::string(what.name) + ", TPOT <= " + what.tpot_ms + " ms", {}, true});
    for (std::size_t i = 0; i < each; ++i) {
      const Found& f = found[c * each + i];
      chart.series.back().points.emplace_back(setups[i].prompts, f.rate);
      table.rows.push_back({what.name, what.tpot_ms, setups[i].name(), significant(f.rate, 3),
                            significant(f.rate / replicas, 3), fixed(f.at.ttft_ms.p90, 0),
                            fixed(f.at.tpot_ms.p90, 1)});
    }
    demo.answer += (c == 0 ? "Highest rate of " + std::to_string(replicas) + " GPUs, " : "; ") +
                   case_text(what, setups, &found[c * each]);
  }
  demo.answer += ".";
  demo.setup = base.model.name + " on " + std::to_string(gpus_of(base)) + " " + base.gpu_name +
               " (" + base.profile + "), KV sent over " + base.cluster.transfer.link +
               "; the first " + grouped(base.workload.limit) +
               " requests of Azure traces, sped up until fewer than " +
               fixed(100 * kAttainment, 0) + " % have TTFT <= " + fixed(*base.slo.ttft_ms, 0) +
               " ms and their TPOT.";
  demo.tables = {table};
  demo.charts = {chart};
  return demo;
}

}  // namespace headway
