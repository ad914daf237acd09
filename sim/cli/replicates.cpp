#include "sim/cli/replicates.h"

#include <algorithm>

#include "sim/cost/profile_noise.h"

namespace headway {

Replicates::Replicates(std::span<const Scenario> scenarios, std::size_t count)
    : scenarios_(scenarios), count_(count) {
  if (count < 2) return;
  for (const Scenario& s : scenarios) {
    if (s.profile == "roofline" || drawn_.contains(s.profile)) continue;
    const Profile profile = load_profile(s.profile);
    std::vector<Profile>& draws = drawn_[s.profile];
    if (!has_noise(profile)) continue;
    for (std::size_t k = 0; k < count; ++k) {
      draws.push_back(perturbed(profile, scenarios.front().seed + k));
    }
  }
}

Execution Replicates::run(std::size_t scenario, std::size_t k, std::span<Observer* const> extra,
                          bool progress, const RunOptions& options) const {
  Scenario s = scenarios_[scenario];
  s.seed += k;
  const auto draws = drawn_.find(s.profile);
  const Profile* profile =
      draws == drawn_.end() || draws->second.empty() ? nullptr : &draws->second[k];
  return execute(s, extra, progress, options, profile);
}

std::string Replicates::note() const {
  if (count_ < 2) return "";
  const bool noisy = std::any_of(drawn_.begin(), drawn_.end(),
                                 [](const auto& row) { return !row.second.empty(); });
  const bool drawn = std::any_of(scenarios_.begin(), scenarios_.end(), [](const Scenario& s) {
    return s.workload.trace.empty() || s.cluster.router == "random" || s.speculation.on();
  });
  std::string text;
  if (!noisy) {
    text += "note: no profile here states its noise, so the spread is that of the workload alone\n";
  }
  if (!drawn) {
    text += noisy ? "note: the workload is a recorded one and the same in every replicate: the "
                    "spread is that of the profile's noise alone\n"
                  : "note: the workload is a recorded one and nothing is drawn: all replicates are "
                    "the same run\n";
  }
  return text;
}

}  // namespace headway
