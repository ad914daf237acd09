#include "kernels/profiler/measure.h"

#include <algorithm>

#include "kernels/profiler/statistics.h"

namespace headway::kernels {
namespace {

bool content(const std::vector<double>& us, const StoppingRule& rule) {
  if (static_cast<int>(us.size()) < rule.min_samples) return false;
  const Interval interval = median_interval(us);
  const double middle = median(us);
  return interval.high - middle <= rule.target * middle &&
         middle - interval.low <= rule.target * middle;
}

}  // namespace

Visit measure(PointTimer& timer, const std::function<double()>& now_s, const StoppingRule& rule,
              const Deadline& deadline) {
  Visit visit;
  Sample least_disturbed;
  least_disturbed.busy = -1;
  const double begin = now_s();
  double longest = 0;  // a sample took, its own overhead included
  for (double now = begin;;) {
    if (deadline.stopped() || now + longest > deadline.at_s || now >= deadline.at_s) break;
    const Sample sample = timer.sample();
    const double after = now_s();
    longest = std::max(longest, after - now);
    now = after;
    if (sample.busy < rule.least_busy) {
      ++visit.rejected;
      if (sample.busy > least_disturbed.busy) least_disturbed = sample;
    } else {
      visit.us.push_back(sample.us);
      if (sample.clock_mhz > 0) visit.clock_mhz.push_back(sample.clock_mhz);
    }
    // The minimum comes before the cap, unless nothing but rejected samples fills the time.
    const bool enough = static_cast<int>(visit.us.size()) >= rule.min_samples;
    const bool capped = now - begin >= rule.cap_s;
    if (content(visit.us, rule)) break;
    if (capped && (enough || visit.rejected > 0)) break;
    if (static_cast<int>(visit.us.size()) >= rule.max_samples) break;
  }
  if (visit.us.empty() && visit.rejected > 0) {
    visit.contended = true;
    visit.us.push_back(least_disturbed.us);
    if (least_disturbed.clock_mhz > 0) visit.clock_mhz.push_back(least_disturbed.clock_mhz);
  }
  return visit;
}

}  // namespace headway::kernels
