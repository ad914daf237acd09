#include "sim/metrics/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr std::size_t kFewestSamples = 8;
constexpr std::int64_t kFewestArrivals = 20;

struct Line {
  double intercept = 0, slope = 0;
};

Line weighted_line(const std::vector<double>& x, const std::vector<double>& y,
                   const std::vector<double>& weight) {
  double sw = 0, sx = 0, sy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sw += weight[i];
    sx += weight[i] * x[i];
    sy += weight[i] * y[i];
  }
  const double mx = sx / sw, my = sy / sw;
  double sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sxx += weight[i] * (x[i] - mx) * (x[i] - mx);
    sxy += weight[i] * (x[i] - mx) * (y[i] - my);
  }
  const double slope = sxx > 0 ? sxy / sxx : 0;
  return {my - slope * mx, slope};
}

// 1.4826 x the median absolute residual: the standard deviation, for normal residuals.
double robust_scatter(const std::vector<double>& x, const std::vector<double>& y,
                      const Line& line) {
  std::vector<double> away(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    away[i] = std::abs(y[i] - line.intercept - line.slope * x[i]);
  }
  const auto middle = away.begin() + static_cast<std::ptrdiff_t>(away.size() / 2);
  std::nth_element(away.begin(), middle, away.end());
  return 1.4826 * *middle;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void Backlog::advance(SimTime now) {
  // Within one replica time only moves forward; a late report of another's finish changes the count
  // from here on.
  if (now <= last_) return;
  integral_ += static_cast<double>(in_system_) * static_cast<double>((now - last_).ns());
  std::int64_t from = (last_ - first_arrival_).ns();
  const std::int64_t to = (now - first_arrival_).ns();
  while (to / width_ns_ >= static_cast<std::int64_t>(kBuckets)) {
    for (std::size_t i = 0; i < kBuckets / 2; ++i)
      buckets_[i] = buckets_[2 * i] + buckets_[2 * i + 1];
    std::fill(buckets_.begin() + kBuckets / 2, buckets_.end(), 0.0);
    width_ns_ *= 2;
  }
  while (from < to) {
    const std::int64_t bucket = from / width_ns_;
    const std::int64_t end = std::min(to, (bucket + 1) * width_ns_);
    buckets_[static_cast<std::size_t>(bucket)] +=
        static_cast<double>(in_system_) * static_cast<double>(end - from);
    from = end;
  }
  last_ = now;
}

void Backlog::on_arrival(std::uint64_t /*request*/, SimTime now) {
  if (arrived_++ == 0) first_arrival_ = last_arrival_ = last_ = now;
  advance(now);
  last_arrival_ = std::max(last_arrival_, now);
  peak_ = std::max(peak_, ++in_system_);
}

void Backlog::on_finish(const RequestRecord& request) {
  advance(request.finish);
  --in_system_;
  SIM_CHECK(in_system_ >= 0, "INV-1: more requests left than arrived");
}

void Backlog::on_end(SimTime now) {
  if (arrived_ > 0) advance(now);
}

double Backlog::arrival_rate() const {
  const double window = (last_arrival_ - first_arrival_).seconds();
  return window > 0 ? static_cast<double>(arrived_ - 1) / window : 0;
}

double Backlog::mean_in_system() const {
  return share(integral_, static_cast<double>((last_ - first_arrival_).ns()));
}

Backlog::Trend Backlog::trend(SimTime warmup) const {
  Trend out;
  const std::int64_t window = (last_arrival_ - first_arrival_).ns();
  const std::int64_t skip = std::min(warmup.ns(), window / 2);
  const auto width = static_cast<double>(width_ns_);
  std::vector<double> x, y;
  for (std::int64_t i = (skip + width_ns_ - 1) / width_ns_; (i + 1) * width_ns_ <= window; ++i) {
    x.push_back((static_cast<double>(i) + 0.5) * width / 1e9);
    y.push_back(buckets_[static_cast<std::size_t>(i)] / width);
  }
  if (x.size() < kFewestSamples || arrived_ < kFewestArrivals) return out;

  std::vector<double> weight(x.size(), 1.0);
  Line line = weighted_line(x, y, weight);
  constexpr int kRounds = 20;
  constexpr double kHuber = 1.345;  // 95 % efficient on normal residuals
  for (int round = 0; round < kRounds; ++round) {
    const double limit = kHuber * robust_scatter(x, y, line);
    if (limit <= 0) break;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double away = std::abs(y[i] - line.intercept - line.slope * x[i]);
      weight[i] = away <= limit ? 1.0 : limit / away;
    }
    line = weighted_line(x, y, weight);
  }
  out.known = true;
  out.slope_per_s = line.slope;
  out.window_s = static_cast<double>(x.size()) * width / 1e9;
  out.scatter = robust_scatter(x, y, line);
  return out;
}

Verdict judge(const Backlog& backlog, const VerdictFacts& facts) {
  Verdict v;
  const Backlog::Trend trend = backlog.trend(SimTime::from_ms(facts.mean_e2el_ms));
  v.trend_known = trend.known;
  v.slope_per_s = trend.slope_per_s;
  v.window_s = trend.window_s;
  v.mean_in_system = backlog.mean_in_system();
  v.peak_in_system = backlog.peak();
  v.queueing_share = share(facts.mean_queue_ms, facts.mean_e2el_ms);
  const double growth = trend.slope_per_s * trend.window_s;
  if (growth >= std::max(kTrendRequests, kTrendScatter * trend.scatter)) {
    v.growth_share = share(trend.slope_per_s, backlog.arrival_rate());
  }
  if (v.growth_share >= kOverloadedGrowth) {
    v.load = Load::kOverloaded;
  } else if (v.growth_share >= kBackloggedGrowth || v.queueing_share > kQueueingShare) {
    v.load = Load::kBacklogged;
  }

  v.preemptions_per_request =
      share(static_cast<double>(facts.preemptions), static_cast<double>(facts.completed));
  v.recomputed_share = share(static_cast<double>(facts.recomputed_tokens),
                             static_cast<double>(facts.computed_tokens));
  v.preemption_share = share(facts.mean_preemption_ms, facts.mean_e2el_ms);
  v.preemption_storm =
      facts.preemptions >= kStormPreemptions &&
      (v.preemptions_per_request > kStormPerRequest || v.recomputed_share > kStormRecomputed ||
       v.preemption_share > kStormLatency);
  return v;
}

}  // namespace headway
