#pragma once

#include <cstdint>
#include <variant>

namespace headway {

// The events of a simulation, as named values. `generation` marks events that may be out of date
// when they come up: they are passed over when it no longer matches.

struct SendEvent {          // a client sends its next request
  std::uint64_t generation;
};
struct AdmitEvent {         // a request has passed the host's front end and joins its replica's queue
  std::uint32_t replica;
  std::uint32_t parcel;     // index of the request under way
};
struct WakeEvent {          // a replica looks at its queue
  std::uint32_t replica;
  std::uint64_t generation;
};

using EventBody = std::variant<SendEvent, AdmitEvent, WakeEvent>;

}  // namespace headway
