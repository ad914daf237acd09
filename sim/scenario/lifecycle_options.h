#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace headway {

// A failure that is to happen. Infinite down_s: it never comes back.
struct FailureOptions {
  std::int32_t replica = 0;  // its number in the fleet
  double at_s = 0;
  double down_s = std::numeric_limits<double>::infinity();
};

// Failures at random, of every replica on its own: both times are exponential.
struct RandomFailureOptions {
  double mtbf_s = 0;  // mean time from being ready to the failure
  double mttr_s = 0;  // mean time from the failure until it starts again
};

// Kubernetes' horizontal pod autoscaler (cluster/autoscaler.h); its defaults.
struct AutoscalerOptions {
  std::int32_t min_replicas = 1;
  std::int32_t max_replicas = 1;
  std::string metric = "outstanding";  // one of autoscaler_metrics()
  double target = 0;                   // of the metric, a replica
  double interval_s = 15;
  double scale_up_cooldown_s = 0;      // the lowest, and
  double scale_down_cooldown_s = 300;  // the highest advice of so long is followed
  double tolerance = 0.1;
};

// What it may go by, of which AutoscalerOptions::target is the value that it keeps to (docs/fleets.md).
inline const std::vector<std::string>& autoscaler_metrics() {
  static const std::vector<std::string> names{"utilisation", "kv", "outstanding", "queue", "slo"};
  return names;
}

// How replicas come, go and fail.
struct LifecycleOptions {
  double startup_s = 0;  // from provisioning to ready: weights, warm-up
  std::vector<FailureOptions> failures;
  std::optional<RandomFailureOptions> failures_random;
  std::string on_failure = "retry";  // retry | fail
  std::optional<AutoscalerOptions> autoscaler;
};

}  // namespace headway
