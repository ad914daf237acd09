#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "kernels/profiler/backend.h"

namespace headway::kernels {

// When a point has been sampled enough: at least `min_samples`, then as soon as the 95 % interval
// of the median lies within `target` of it on either side, or at a cap.
struct StoppingRule {
  int min_samples = 7;
  int max_samples = 201;
  double target = 0.01;
  double cap_s = 1.0;      // of one visit, samples only
  double least_busy = 0.97;  // samples below are not taken (contention on a CPU), but counted
};

// Samples of one point from one stay at it.
struct Visit {
  std::vector<double> us;
  std::vector<double> clock_mhz;  // of the samples that knew it
  int rejected = 0;               // samples during which something else ran
  // Every sample was rejected: `us` holds the CPU time of each instead, which leaves the waiting
  // out but not what the others did to the caches.
  bool contended = false;
};

// The end of a session: a time by the backend's clock, and a flag that a signal sets.
struct Deadline {
  double at_s;
  const std::atomic<bool>* stop = nullptr;
  bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

// Samples until the rule is content or the time is up. Takes no sample that, going by the ones
// before it, would end after the deadline; without any, one if there is time left at all.
Visit measure(PointTimer& timer, const std::function<double()>& now_s, const StoppingRule& rule,
              const Deadline& deadline);

}  // namespace headway::kernels
