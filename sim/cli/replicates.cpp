#include "sim/cli/replicates.h"

#include <algorithm>

#include "sim/cost/profile_noise.h"

namespace headway {

Replicates::Replicates(std::span<const Scenario> scenarios, std::size_t count,
                       std::optional<double> run_sigma)
    : scenarios_(scenarios), count_(count) {
  if (count < 2) return;
  for (const Scenario& s : scenarios) {
    if (s.profile == "roofline" || drawn_.contains(s.profile)) continue;
    Profile profile = load_profile(s.profile);
    if (profile.run_sigma == 0) profile.run_sigma = run_sigma.value_or(0);
    std::vector<Profile>& draws = drawn_[s.profile];
    if (!has_noise(profile)) continue;
    for (std::size_t k = 0; k < count; ++k) {
      draws.push_back(perturbed(profile, scenarios.front().seed + k));
    }
  }
}

Execution Replicates::run(std::size_t scenario, std::size_t k, std::span<Observer* const> extra,
                          bool progress, const RunOptions& options, bool with_curves) const {
  Scenario s = scenarios_[scenario];
  s.seed += k;
  const auto draws = drawn_.find(s.profile);
  const Profile* profile =
      draws == drawn_.end() || draws->second.empty() ? nullptr : &draws->second[k];
  return execute(s, extra, progress, options, profile, with_curves);
}

std::string Replicates::note(std::span<const Execution> runs) const {
  if (count_ < 2) return "";
  for (std::size_t i = 0; i < runs.size(); i += count_) {
    const auto all = runs.subspan(i, count_);
    const bool alike = std::all_of(all.begin(), all.end(), [&](const Execution& run) {
      return run.info.fingerprint == all.front().info.fingerprint;
    });
    if (alike) {
      return "note: all replicates are the same run: the workload is a recorded one, and of the "
             "noise of what the profile measured here nothing is known (--run-sigma states it)\n";
    }
  }
  return "";
}

}  // namespace headway
