#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cli/outputs.h"
#include "sim/report/openmetrics.h"
#include "sim/report/timeline.h"
#include "sim/scenario/scenario.h"

namespace headway {

// The files of `headway run` that other programs draw: --timeline and --openmetrics.
class RunExports {
 public:
  void declare(Arguments& arguments);
  // Opens them, so that a name that cannot be written is known before the work. InputError.
  void open(const Scenario& scenario, Outputs& outputs, std::vector<Observer*>& observers);
  // After the run, before anything is said or written: InputError where a window lies outside of it.
  // What the user should know.
  std::string check() const;
  void commit(Outputs& outputs);

 private:
  std::string timeline_path_, window_, metrics_path_;
  std::optional<double> sample_, interval_s_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<OpenMetrics> metrics_;
};

}  // namespace headway
