#pragma once

#include <cstdint>
#include <variant>

#include "sim/core/sim_time.h"

namespace headway {

// The events of a simulation, as named values. `generation` marks events that may be out of date
// when they come up: they are passed over when it no longer matches.

struct AdmitEvent {         // a request has passed the host's front end and joins its engine's queue
  std::uint32_t parcel;     // number of the request under way
};
struct WakeEvent {          // the engines of a seat look at their queues
  std::uint32_t seat;
  std::uint64_t generation;
};

struct ExpiryEvent {        // a request that waits at the gateway gives up
  SimTime at;
};
struct FleetEvent {         // replicas come, go or fail, or an autoscaler looks
  std::uint64_t generation;
};

struct PlaceEvent {};       // requests between two replicas are given a place, or room in it
struct TransferEvent {      // the KV of one of them is there
  std::uint32_t transfer;
};

using EventBody =
    std::variant<AdmitEvent, WakeEvent, ExpiryEvent, FleetEvent, PlaceEvent, TransferEvent>;

}  // namespace headway
