#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/sim_time.h"

namespace headway {

// vLLM's own balancer over the data-parallel ranks of one deployment (v1/engine/core_client.py,
// DPLBAsyncMPClient, and coordinator.py, 0.19): the rank with the least 4 x waiting + running, the
// first of equals. The counts are those that the coordinator published last, at most every 100 ms
// and when something changed; what was sent since counts as waiting.
class DpBalancer {
 public:
  explicit DpBalancer(std::size_t ranks) : current_(ranks), published_(ranks) {}

  std::size_t choose(SimTime now);
  // What a rank's engine says of itself after it has planned or ended a step.
  void report(std::size_t rank, std::int64_t waiting, std::int64_t running, SimTime now);

 private:
  struct Counts {
    std::int64_t waiting = 0, running = 0;
    bool operator==(const Counts&) const = default;
  };
  void publish_until(SimTime now);

  std::vector<Counts> current_, published_;
  SimTime due_ = SimTime::never();  // of the next publication; never = nothing has changed
  SimTime earliest_;                // it may be
};

}  // namespace headway
