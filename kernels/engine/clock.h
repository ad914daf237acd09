#pragma once

#include "sim/core/sim_time.h"

namespace headway::kernels {

// The engine's clock: instants count from the start of a run. Tests have one that they move.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual void start() = 0;  // now() is 0 from here
  virtual SimTime now() = 0;
  // CPU time that this thread has used, to tell whether something else ran in its place.
  virtual SimTime cpu_time() = 0;
  virtual void wait_until(SimTime instant) = 0;
};

// Wall-clock time. Waits asleep until just before the instant, then awake, so that a request is not
// late by the time a thread takes to wake up.
class WallClock final : public Clock {
 public:
  void start() override;
  SimTime now() override;
  SimTime cpu_time() override;
  void wait_until(SimTime instant) override;

 private:
  std::int64_t origin_ns_ = 0;
};

}  // namespace headway::kernels
