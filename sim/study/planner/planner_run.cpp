#include <thread>

#include "sim/core/parallel.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/pools.h"
#include "sim/study/planner/planner.h"

namespace headway {

std::vector<LectureRun> run_fleets(const std::vector<Scenario>& scenarios,
                                   const MakeObserver& extra) {
  std::vector<LectureRun> runs(scenarios.size());
  const auto threads = static_cast<int>(std::thread::hardware_concurrency());
  parallel_for(scenarios.size(), threads, [&](std::size_t i) {
    const Scenario& s = scenarios[i];
    RunMetrics metrics({{s.slo.ttft_ms, s.slo.tpot_ms, s.slo.e2el_ms}, false});
    std::vector<Observer*> observers = {&metrics};
    if (extra) observers.push_back(extra(i));
    runs[i].outcome = simulate(s, observers);
    runs[i].summary = metrics.result();
  });
  return runs;
}

double gpu_hours(const Scenario& scenario, const RunOutcome& outcome) {
  double replica_s = 0;
  for (const PoolOutcome& pool : outcome.pools) replica_s += pool.provisioned_s;
  return replica_s * gpus_of(scenario.parallel) / 3600;
}

}  // namespace headway
