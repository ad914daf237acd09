#pragma once

#include <cstddef>
#include <map>
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
  // The scenarios must outlive it. InputError: a profile that cannot be read.
  Replicates(std::span<const Scenario> scenarios, std::size_t count);

  std::size_t count() const { return count_; }
  // Thread-safe.
  Execution run(std::size_t scenario, std::size_t k, std::span<Observer* const> extra,
                bool progress, const RunOptions& options) const;
  // What the replicates do not vary, for the user to know; "" = nothing to say.
  std::string note() const;

 private:
  std::span<const Scenario> scenarios_;
  std::size_t count_;
  std::map<std::string, std::vector<Profile>> drawn_;  // by profile name, one a replicate
};

}  // namespace headway
