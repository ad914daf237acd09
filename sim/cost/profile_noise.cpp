#include "sim/cost/profile_noise.h"

#include <cmath>

#include "sim/core/random.h"

namespace headway {

bool has_noise(const Profile& profile) {
  if (profile.run_sigma > 0) return true;
  for (const ProfileTable& table : profile.tables) {
    for (std::size_t i = 0; i < table.low_us.size(); ++i) {
      if (table.low_us[i] < table.high_us[i]) return true;
    }
  }
  return false;
}

Profile perturbed(const Profile& profile, std::uint64_t seed) {
  Profile drawn = profile;
  RandomStream rows(seed, "profile rows"), session(seed, "profile session");
  // Of mean 1, so that the noise widens a prediction and does not move it.
  const double sigma = profile.run_sigma;
  const double factor = sigma > 0 ? session.lognormal(-sigma * sigma / 2, sigma) : 1.0;
  for (ProfileTable& table : drawn.tables) {
    const bool band = !table.low_us.empty();
    for (std::size_t i = 0; i < table.rows(); ++i) {
      if (band) {
        const double low = table.low_us[i], high = table.high_us[i];
        if (low < high) table.time_us[i] = low + (high - low) * rows.uniform();
        table.low_us[i] = low * factor;
        table.high_us[i] = high * factor;
      }
      table.time_us[i] *= factor;
    }
  }
  drawn.host.per_step_us *= factor;
  drawn.host.per_request_us *= factor;
  drawn.host.per_sequence_us *= factor;
  drawn.host.per_admission_us *= factor;
  return drawn;
}

}  // namespace headway
