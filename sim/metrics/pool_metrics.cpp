#include "sim/metrics/pool_metrics.h"

#include "sim/metrics/decode_run.h"

namespace headway {

PoolMetrics::PoolMetrics(const std::vector<std::uint32_t>& engines_of_pools)
    : pools_(engines_of_pools.size()) {
  for (std::size_t pool = 0; pool < engines_of_pools.size(); ++pool) {
    pool_of_.insert(pool_of_.end(), engines_of_pools[pool], static_cast<std::uint32_t>(pool));
  }
}

void PoolMetrics::on_step(const StepRecord& step) { of(step.replica).utilisation.on_step(step); }

void PoolMetrics::on_decode_run(const DecodeRunRecord& run) {
  of(run.first.replica).utilisation.on_decode_run(run);
}

void PoolMetrics::on_finish(const RequestRecord& request) {
  if (request.replica == kNoReplica) return;
  Pool& pool = of(request.replica);
  ++(request.failed ? pool.failed : pool.completed);
}

std::vector<PoolSummary> PoolMetrics::result(SimTime span) const {
  std::vector<PoolSummary> out;
  for (const Pool& pool : pools_) {
    out.push_back({pool.completed, pool.failed, pool.utilisation.result(span)});
  }
  return out;
}

}  // namespace headway
