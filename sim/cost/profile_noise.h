#pragma once

#include <cstdint>

#include "sim/cost/profile.h"

namespace headway {

// One of the profiles that the measurement might as well have given: every row that has a noise band
// drawn within it, uniformly, each on its own; then all times (host terms too) times one lognormal
// factor, the error that all rows of a session share (run_sigma). Draws depend on the seed alone, so
// that two policies priced from the same draw are compared like with like.
Profile perturbed(const Profile& profile, std::uint64_t seed);
// Whether perturbed() changes anything.
bool has_noise(const Profile& profile);

}  // namespace headway
