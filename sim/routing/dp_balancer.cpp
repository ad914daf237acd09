#include "sim/routing/dp_balancer.h"

#include <algorithm>

namespace headway {
namespace {

constexpr std::int64_t kWaitingWeight = 4;

SimTime publication_interval() { return SimTime::from_ms(100); }

}  // namespace

std::size_t DpBalancer::choose(SimTime now) {
  publish_until(now);
  const auto score = [](const Counts& c) { return kWaitingWeight * c.waiting + c.running; };
  const auto best =
      std::min_element(published_.begin(), published_.end(),
                       [&](const Counts& a, const Counts& b) { return score(a) < score(b); });
  ++best->waiting;
  return static_cast<std::size_t>(best - published_.begin());
}

void DpBalancer::report(std::size_t rank, std::int64_t waiting, std::int64_t running, SimTime now) {
  publish_until(now);
  const Counts counts{waiting, running};
  if (current_[rank] == counts) return;
  current_[rank] = counts;
  if (due_ == SimTime::never()) due_ = std::max(now, earliest_);
}

// What was due before now said what was known then; what is due now waits for all that this instant
// brings.
void DpBalancer::publish_until(SimTime now) {
  if (due_ >= now) return;
  published_ = current_;
  earliest_ = due_ + publication_interval();
  due_ = SimTime::never();
}

}  // namespace headway
