#include "sim/cluster/autoscaler.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway {
namespace {

std::int32_t ceil_of(double replicas) {
  constexpr double kMost = 1e9;
  return static_cast<std::int32_t>(std::ceil(std::min(replicas, kMost)));
}

}  // namespace

Autoscaler::Autoscaler(const AutoscalerOptions& options, std::int32_t replicas)
    : options_(options),
      up_(SimTime::from_seconds(options.scale_up_cooldown_s)),
      down_(SimTime::from_seconds(options.scale_down_cooldown_s)) {
  SIM_CHECK(options.target > 0 && options.min_replicas <= options.max_replicas);
  past_.push_back({SimTime(), replicas});
}

std::int32_t Autoscaler::advise(const FleetMeasure& m) const {
  const std::int32_t current = m.ready + m.unready;
  if (!m.metric || m.ready == 0) return current;
  const double ratio = *m.metric / options_.target;
  const auto tolerated = [this](double r) { return std::abs(r - 1) <= options_.tolerance; };
  if (m.unready == 0 || ratio <= 1) {
    return tolerated(ratio) ? current : ceil_of(ratio * m.ready);
  }
  // Those on their way will take a part of it: with them idle it has to be too much still.
  const double with_all = ratio * m.ready / current;
  if (tolerated(with_all) || with_all < 1) return current;
  return std::max(current, ceil_of(with_all * current));
}

std::int32_t Autoscaler::decide(SimTime now, const FleetMeasure& m) {
  const std::int32_t current = m.ready + m.unready;
  const std::int32_t least = options_.min_replicas, most = options_.max_replicas;
  if (current < least || current > most) return std::clamp(current, least, most);
  const std::int32_t advice = std::clamp(advise(m), least, most);
  while (!past_.empty() && past_.front().at + std::max(up_, down_) <= now) past_.pop_front();
  std::int32_t lowest = advice, highest = advice;
  for (const Advice& past : past_) {
    if (past.at + up_ > now) lowest = std::min(lowest, past.replicas);
    if (past.at + down_ > now) highest = std::max(highest, past.replicas);
  }
  past_.push_back({now, advice});
  // As many as now, but no fewer than the one and no more than the other.
  return std::clamp(std::min(std::max(current, lowest), highest), least, most);
}

}  // namespace headway
