#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/core/sim_time.h"
#include "sim/scenario/lifecycle_options.h"

namespace headway {

// What an autoscaler sees of its replicas.
struct FleetMeasure {
  std::int32_t ready = 0;
  std::int32_t unready = 0;       // on their way: starting, or failed and to come back
  std::optional<double> metric;   // a ready replica's mean; unset = nothing to go by
};

// The rule of Kubernetes' horizontal pod autoscaler (kubernetes.io, "Horizontal Pod Autoscaling",
// v1.30; pkg/controller/podautoscaler, replica_calculator.go and horizontal.go):
//
//   advice = ceil(replicas x metric / target); to stay while the ratio is within 1 +- tolerance;
//   replicas that are on their way count as idle where that would scale up, so that they are waited
//   for; the number follows, but falls no lower than the highest advice of scale_down_cooldown_s and
//   rises no higher than the lowest of scale_up_cooldown_s (stabilisation windows).
//
// A policy without a clock: it is asked every interval_s.
class Autoscaler {
 public:
  // REQUIRES: target > 0, min <= max. The start counts as advice to stay.
  Autoscaler(const AutoscalerOptions& options, std::int32_t replicas);

  // How many replicas there should be, from min to max.
  std::int32_t decide(SimTime now, const FleetMeasure& measure);

  // The advice of one look, before cool-downs and limits.
  std::int32_t advise(const FleetMeasure& measure) const;

 private:
  struct Advice {
    SimTime at;
    std::int32_t replicas;
  };

  AutoscalerOptions options_;
  SimTime up_, down_;         // cool-downs
  std::deque<Advice> past_;   // of the longer cool-down
};

}  // namespace headway
