#pragma once

#include <cstdint>

#include "sim/core/sim_time.h"
#include "sim/metrics/observer.h"
#include "sim/workload/request.h"

namespace headway {

// A request between two replicas: one has computed its prompt and emitted its first token, another is
// to go on. What the first one knows of it, for the record that the second will announce.
struct Handover {
  Request request;
  SimTime scheduled, first_token, last_token, max_itl;
  LatencySplit split{};             // sums to last_token - arrival
  std::int32_t output_tokens = 0;   // emitted
  std::int32_t cached_tokens = 0;   // as RequestRecord has it
  std::int32_t preemptions = 0;
  std::uint32_t slot = 0;           // names its KV to the replica that holds it, until release_kv()
};

}  // namespace headway
