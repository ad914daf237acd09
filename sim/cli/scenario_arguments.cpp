#include "sim/cli/scenario_arguments.h"

#include <algorithm>
#include <thread>

namespace headway {

void ScenarioArguments::declare(Arguments& arguments, bool required) {
  arguments.positional("scenario", path_,
                       "A scenario's path, a name from `headway list scenarios`, or - for stdin",
                       required);
  arguments.list("--set", "KEY=VALUE", sets_, "Change a key of the scenario (may be repeated)");
  arguments.number("--seed", "N", seed_, 0, "What every random draw starts from");
  arguments.number("--limit", "N", limit_, 1, "Stop after the first N requests of the workload");
  arguments.flag("--step-by-step", step_by_step_,
                 "Simulate every engine step, instead of summing up runs of alike ones: slower, "
                 "same results");
  arguments.number("-j,--threads", "N", threads_, {1, kMostThreads},
                   "At most so many (default: what the machine has); results do not depend on it");
  arguments.flag("-q,--quiet", quiet_, "No progress and no notes on stderr");
}

std::string ScenarioArguments::given() const {
  if (!path_.empty()) return "a scenario";
  if (!sets_.empty()) return "--set";
  if (seed_) return "--seed";
  return limit_ ? "--limit" : "";
}

Scenario ScenarioArguments::load(const std::vector<Assignment>& more) const {
  std::vector<Assignment> assignments;
  for (const std::string& set : sets_) assignments.push_back(parse_assignment(set));
  if (seed_) assignments.push_back({"seed", std::to_string(*seed_), "--seed"});
  assignments.insert(assignments.end(), more.begin(), more.end());
  Scenario scenario = load_scenario(path_, assignments);
  if (limit_) limit_requests(scenario, *limit_);
  return scenario;
}

RunOptions ScenarioArguments::run_options() const {
  RunOptions options;
  options.step_by_step = step_by_step_;
  const auto machine = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  options.threads = static_cast<int>(threads_.value_or(std::max<std::int64_t>(machine, 1)));
  return options;
}

}  // namespace headway
