#pragma once

#include <cstdint>

#include "sim/core/sim_time.h"

namespace headway {

// Host time of one replica, resolved (scenario over profile).
struct HostTimes {
  SimTime per_step;      // occupies the engine, once a step; the part async scheduling cannot hide
  SimTime per_sequence;  // occupies the engine, per scheduled sequence and step
  SimTime per_admission; // occupies the engine, once a request, in the step that it first runs in
  SimTime per_request;   // before a request reaches the scheduler (tokenising, HTTP); no one waits for it

  SimTime of_step(std::int64_t sequences, std::int64_t admitted) const {
    return per_step + per_sequence * sequences + per_admission * admitted;
  }
};

}  // namespace headway
