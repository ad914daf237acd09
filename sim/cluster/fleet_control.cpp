#include "sim/cluster/fleet_control.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr double kSloPercentile = 0.9;

// The worst of a request's latencies, as a share of its limit; 0 without limits.
double slo_ratio(const SloOptions& slo, const RequestRecord& r) {
  const double ttft = (r.first_token - r.arrival).ms(), e2el = (r.finish - r.arrival).ms();
  double worst = 0;
  if (slo.ttft_ms) worst = std::max(worst, ttft / *slo.ttft_ms);
  if (slo.e2el_ms) worst = std::max(worst, e2el / *slo.e2el_ms);
  const std::int32_t gaps = r.output_tokens / std::max(r.answers, 1) - 1;
  if (slo.tpot_ms && gaps > 0) worst = std::max(worst, (e2el - ttft) / gaps / *slo.tpot_ms);
  return worst;
}

}  // namespace

std::vector<LifecyclePool> lifecycle_pools(std::span<const PoolPlan> plans) {
  std::vector<LifecyclePool> pools;
  for (const PoolPlan& plan : plans) {
    pools.push_back({plan.replicas, plan.most(), SimTime::from_seconds(plan.startup_s),
                     plan.autoscaler.has_value()});
  }
  return pools;
}

FleetControl::FleetControl(const Scenario& scenario, std::span<const PoolPlan> plans)
    : slo_(scenario.slo),
      changes_(!scenario.cluster.lifecycle.failures.empty() ||
               scenario.cluster.lifecycle.failures_random.has_value()),
      lifecycle_(lifecycle_pools(plans), scenario.cluster.lifecycle, scenario.seed) {
  for (const PoolPlan& plan : plans) {
    const auto most = static_cast<std::size_t>(plan.most());
    const auto engines = static_cast<std::size_t>(plan.blueprint.data_parallel_size);
    busy_.resize(busy_.size() + most);
    pool_of_engine_.insert(pool_of_engine_.end(), most * engines,
                           static_cast<std::uint32_t>(pools_.size()));
    Pool& pool = pools_.emplace_back();
    if (!plan.autoscaler) continue;
    changes_ = true;
    const AutoscalerOptions& o = *plan.autoscaler;
    const auto& names = autoscaler_metrics();
    const auto row = std::find(names.begin(), names.end(), o.metric);
    SIM_CHECK(row != names.end(), "an autoscaler's metric is known");
    pool.metric = static_cast<Metric>(row - names.begin());
    listens_ = listens_ || pool.metric == Metric::kSlo;
    pool.interval = pool.next_look = SimTime::from_seconds(o.interval_s);
    pool.autoscaler.emplace(o, plan.replicas);
  }
  plan_looks();
}

void FleetControl::on_finish(const RequestRecord& r) {
  if (r.failed || r.replica == kNoReplica) return;
  Pool& pool = pools_[pool_of_engine_[r.replica]];
  if (pool.autoscaler && pool.metric == Metric::kSlo) pool.slo_ratios.push_back(slo_ratio(slo_, r));
}

SimTime FleetControl::next() const {
  const SimTime next = std::min(lifecycle_.next(), emptied_at_);
  return lifecycle_.may_serve() ? std::min(next, next_look_) : next;
}

void FleetControl::emptied(std::uint32_t replica, SimTime now) {
  emptied_.push_back(replica);
  emptied_at_ = now;
}

void FleetControl::act(SimTime now, const Fleet& fleet, std::int64_t at_gateway,
                       std::vector<ReplicaChange>& changes) {
  const std::size_t first = changes.size();
  lifecycle_.advance(now, changes);
  for (const std::uint32_t replica : emptied_) {
    if (drains(replica)) lifecycle_.emptied(replica, now, changes);  // it may have failed just now
  }
  emptied_.clear();
  emptied_at_ = SimTime::never();
  for (std::uint32_t p = 0; p < pools_.size(); ++p) {
    if (pools_[p].next_look <= now) look(p, now, fleet, at_gateway, changes);
  }
  plan_looks();
  // What gets ready now is measured from here on.
  for (std::size_t i = first; i < changes.size(); ++i) {
    const auto [replica, from, to, lost] = changes[i];
    if (to != ReplicaState::kReady) continue;
    const bool anew = from != ReplicaState::kDraining;
    busy_[replica] = {anew ? SimTime() : fleet.busy(replica, now), now};
  }
}

void FleetControl::look(std::uint32_t number, SimTime now, const Fleet& fleet,
                        std::int64_t at_gateway, std::vector<ReplicaChange>& changes) {
  Pool& pool = pools_[number];
  pool.next_look = now + pool.interval;
  const auto scaled = std::count_if(pools_.begin(), pools_.end(),
                                    [](const Pool& p) { return p.autoscaler.has_value(); });
  const double waiting = static_cast<double>(at_gateway) / static_cast<double>(scaled);
  const FleetRecord has = lifecycle_.count(number, now);
  const FleetMeasure measure{has.ready, has.starting + has.failed,
                             this->measure(pool, number, now, fleet, waiting)};
  lifecycle_.scale(number, pool.autoscaler->decide(now, measure), now, changes);
}

std::optional<double> FleetControl::measure(Pool& pool, std::uint32_t number, SimTime now,
                                            const Fleet& fleet, double at_gateway) {
  if (pool.metric == Metric::kSlo) {
    std::vector<double> ratios = std::exchange(pool.slo_ratios, {});
    if (ratios.empty()) return std::nullopt;
    const auto at = ratios.begin() + static_cast<std::ptrdiff_t>(
                                         kSloPercentile * static_cast<double>(ratios.size() - 1));
    std::nth_element(ratios.begin(), at, ratios.end());
    return *at;
  }
  double sum = 0;
  std::int32_t ready = 0;
  // One that gets ready just now is not among the fleet's yet; it has nothing in it.
  for (const ReplicaLoad& load : fleet.loads()) {
    if (lifecycle_.pool_of(load.replica) != number) continue;
    if (lifecycle_.state(load.replica) != ReplicaState::kReady) continue;
    ++ready;
    switch (pool.metric) {
      case Metric::kUtilisation: sum += busy_share(load.replica, now, fleet); break;
      case Metric::kKv: sum += fleet.kv_share(load.replica); break;
      case Metric::kOutstanding: sum += static_cast<double>(load.outstanding); break;
      default: sum += static_cast<double>(fleet.waiting(load.replica)); break;
    }
  }
  const bool queues = pool.metric == Metric::kOutstanding || pool.metric == Metric::kQueue;
  ready = std::max(ready, lifecycle_.count(number, now).ready);
  if (ready == 0) return std::nullopt;
  return (sum + (queues ? at_gateway : 0)) / ready;
}

double FleetControl::busy_share(std::uint32_t replica, SimTime now, const Fleet& fleet) {
  const SimTime busy = fleet.busy(replica, now);
  const Busy before = std::exchange(busy_[replica], {busy, now});
  const double span = static_cast<double>((now - before.at).ns());
  return span > 0 ? static_cast<double>((busy - before.busy).ns()) / span : 0.0;
}

void FleetControl::plan_looks() {
  next_look_ = SimTime::never();
  for (const Pool& pool : pools_) next_look_ = std::min(next_look_, pool.next_look);
}

void FleetControl::finish(RunOutcome& outcome) const {
  outcome.failures = lifecycle_.failures();
  for (std::uint32_t p = 0; p < outcome.pools.size(); ++p) {
    outcome.pools[p].provisioned_s = lifecycle_.provisioned_s(p, outcome.end);
  }
}

}  // namespace headway
