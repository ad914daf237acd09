#include "sim/scenario/pools.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {

std::vector<Scenario> pool_scenarios(const Scenario& scenario) {
  std::vector<Scenario> own;
  for (const PoolOptions& pool : scenario.cluster.pools) {
    SIM_CHECK(pool.own != nullptr, "a pool is resolved with its scenario");
    Scenario& s = own.emplace_back(*pool.own);
    s.cluster.replicas = pool.replicas;
    s.cluster.lifecycle = scenario.cluster.lifecycle;
    s.cluster.lifecycle.autoscaler = pool.autoscaler;
    if (pool.startup_s) s.cluster.lifecycle.startup_s = *pool.startup_s;
    s.workload = scenario.workload;
    s.slo = scenario.slo;
    s.seed = scenario.seed;
  }
  if (own.empty()) own.push_back(scenario);
  return own;
}

bool replicas_fail(const Scenario& scenario) {
  const LifecycleOptions& o = scenario.cluster.lifecycle;
  return !o.failures.empty() || o.failures_random;
}

bool fleet_changes(const Scenario& scenario) {
  const std::vector<PoolOptions>& pools = scenario.cluster.pools;
  return replicas_fail(scenario) || scenario.cluster.lifecycle.autoscaler ||
         std::any_of(pools.begin(), pools.end(),
                     [](const PoolOptions& pool) { return pool.autoscaler.has_value(); });
}

std::int32_t gpus_of(const ParallelOptions& p) {
  return p.tensor_parallel_size * p.pipeline_parallel_size * p.data_parallel_size *
         p.context_parallel_size;
}

std::int32_t gpus_of(const Scenario& scenario) {
  std::int32_t gpus = 0;
  for (const Scenario& s : pool_scenarios(scenario)) gpus += s.cluster.replicas * gpus_of(s.parallel);
  return gpus;
}

double usd_per_hour(const Scenario& scenario) {
  double usd = 0;
  for (const Scenario& s : pool_scenarios(scenario)) {
    usd += s.gpu.price_per_hour * s.cluster.replicas * gpus_of(s.parallel);
  }
  return usd;
}

}  // namespace headway
