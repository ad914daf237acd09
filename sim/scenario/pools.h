#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/scenario/scenario.h"

namespace headway {

// Each pool of the cluster as a scenario of its own: cluster.replicas and the lifecycle are the pool's,
// workload, SLO and seed the base's. The scenario itself where its replicas are alike.
std::vector<Scenario> pool_scenarios(const Scenario& scenario);

// Whether replicas come, go or fail during a run; whether some may fail.
bool fleet_changes(const Scenario& scenario);
bool replicas_fail(const Scenario& scenario);

// Replicas that there may be at once, of so many at the start: there are numbers for each.
inline std::int32_t most_replicas(std::int32_t replicas,
                                  const std::optional<AutoscalerOptions>& autoscaler) {
  return autoscaler ? std::max(replicas, autoscaler->max_replicas) : replicas;
}

// GPUs that one replica occupies, and all of the cluster at the start.
std::int32_t gpus_of(const ParallelOptions& parallel);
std::int32_t gpus_of(const Scenario& scenario);
// US dollars an hour of those GPUs; a GPU without a price counts nothing.
double usd_per_hour(const Scenario& scenario);

}  // namespace headway
