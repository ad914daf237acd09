#include "sim/study/lecture/lecture_run.h"

#include "sim/scenario/metrics_options.h"
#include "sim/scenario/parse.h"

namespace headway {

Scenario lecture_scenario(const std::string& name, const std::vector<Setting>& settings) {
  std::vector<Assignment> assignments;
  for (const Setting& s : settings) assignments.push_back({s.key, s.value, "--set"});
  return load_scenario(name, assignments);
}

LectureRun run_lecture(const Scenario& scenario) {
  RunMetrics metrics(metrics_options(scenario.slo));
  Observer* observers[] = {&metrics};
  LectureRun run;
  run.outcome = simulate(scenario, observers);
  run.summary = metrics.result();
  return run;
}

}  // namespace headway
