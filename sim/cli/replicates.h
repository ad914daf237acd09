#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cli/execute.h"
#include "sim/cost/profile.h"
#include "sim/scenario/scenario.h"

namespace headway {

// Several runs of each of several scenarios, replicate k of all of them on the same draws (common
// random numbers): seed + k, and of each profile that has noise its k-th draw (profile_noise.h). A
// single run is the scenario as it stands, with the profile as it was measured.
class Replicates {
 public:
  // The scenarios must outlive it. `run_sigma` stands in where a profile states none (most imported
  // ones). InputError: a profile that cannot be read.
  Replicates(std::span<const Scenario> scenarios, std::size_t count,
             std::optional<double> run_sigma = std::nullopt);

  std::size_t count() const { return count_; }
  // Thread-safe.
  Execution run(std::size_t scenario, std::size_t k, std::span<Observer* const> extra,
                bool progress, const RunOptions& options, bool with_curves = false) const;
  // Where replicates that should differ are one and the same run, for the user to know; "" = nowhere.
  // `runs`: all of them, those of a scenario together.
  std::string note(std::span<const Execution> runs) const;

 private:
  std::span<const Scenario> scenarios_;
  std::size_t count_;
  std::map<std::string, std::vector<Profile>> drawn_;  // by profile name, one a replicate
};

}  // namespace headway
