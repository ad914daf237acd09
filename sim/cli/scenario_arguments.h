#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cluster/simulation.h"
#include "sim/scenario/parse.h"

namespace headway {

// The part of the command line that says what to simulate; common to run and compare.
class ScenarioArguments {
 public:
  void declare(Arguments& arguments, bool required = true);
  // The first word given of those that change what is simulated ("a scenario", "--set" ...); "" = none.
  std::string given() const;
  // `more` comes after the --set ones. InputError.
  Scenario load(const std::vector<Assignment>& more = {}) const;
  bool quiet() const { return quiet_; }
  RunOptions run_options() const;

 private:
  std::string path_;
  std::vector<std::string> sets_;
  std::optional<std::int64_t> seed_, limit_, threads_;
  bool quiet_ = false, step_by_step_ = false;
};

}  // namespace headway
