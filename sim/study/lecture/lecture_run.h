#pragma once

#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/metrics/run_summary.h"
#include "sim/scenario/scenario.h"

namespace headway {

// KEY and VALUE of a `--set`.
struct Setting {
  std::string key, value;
};
Scenario lecture_scenario(const std::string& name, const std::vector<Setting>& settings = {});

struct LectureRun {
  RunSummary summary;
  RunOutcome outcome;
};
LectureRun run_lecture(const Scenario& scenario);

}  // namespace headway
