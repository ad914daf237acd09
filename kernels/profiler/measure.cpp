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
  std::vector<double> cpu_us;  // of the rejected samples
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
      if (sample.busy > 0) cpu_us.push_back(sample.us * sample.busy);
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
  if (visit.us.empty() && !cpu_us.empty()) {
    visit.contended = true;
    visit.us = std::move(cpu_us);
  }
  return visit;
}

}  // namespace headway::kernels
