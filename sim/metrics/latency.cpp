#include "sim/metrics/latency.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "sim/core/errors.h"
#include "sim/metrics/slo.h"

namespace headway {
namespace {

constexpr double kNsPerMs = 1e6;

void check_causality(const RequestRecord& r) {
  const auto detail = [&] {
    return "request " + std::to_string(r.id) + ": arrival " + std::to_string(r.arrival.ns()) +
           ", scheduled " + std::to_string(r.scheduled.ns()) + ", first token " +
           std::to_string(r.first_token.ns()) + ", finish " + std::to_string(r.finish.ns()) + " ns";
  };
  SIM_CHECK(r.arrival <= r.scheduled && r.scheduled <= r.first_token && r.first_token <= r.finish,
            detail());
  SimTime sum;
  for (SimTime part : r.split) sum += part;
  SIM_CHECK(sum == e2el_of(r),
            "latency parts sum to " + std::to_string(sum.ns()) + ", " + detail());
  SIM_CHECK(r.output_tokens > 0, "a finished request without a token, " + detail());
}

}  // namespace

void LatencyMetrics::on_arrival(std::uint64_t /*request*/, SimTime now) {
  if (arrived_++ == 0) first_arrival_ = last_arrival_ = now;
  first_arrival_ = std::min(first_arrival_, now);
  last_arrival_ = std::max(last_arrival_, now);
}

void LatencyMetrics::on_token_gaps(SimTime gap, std::int64_t count, SimTime /*now*/) {
  if (count <= 0) return;
  if (!gaps_.empty() && gaps_.back().value == gap.ns()) {
    gaps_.back().count += count;
    return;
  }
  if (gaps_.size() >= compact_at_) {
    sort_and_merge(gaps_);
    compact_at_ = std::max(compact_at_, 2 * gaps_.size());
  }
  gaps_.push_back({gap.ns(), count});
}

void LatencyMetrics::on_finish(const RequestRecord& r) {
  if (r.failed) {
    ++failed_;
    return;
  }
  check_causality(r);
  ttft_ns_.push_back(ttft_of(r).ns());
  e2el_ns_.push_back(e2el_of(r).ns());
  if (const auto tpot = tpot_ms_of(r)) tpot_ms_.push_back(*tpot);
  for (std::size_t i = 0; i < kLatencyParts; ++i) split_ns_[i] += r.split[i].ns();
  input_tokens_ += r.prompt_tokens;
  output_tokens_ += r.output_tokens;
  cached_tokens_ += r.cached_tokens;
  held_ns_ += r.held.ns();
  last_finish_ = std::max(last_finish_, r.finish);
}

double LatencyMetrics::mean_held_ms() const {
  if (completed() == 0) return 0;
  return static_cast<double>(held_ns_) / static_cast<double>(completed()) / kNsPerMs;
}

std::array<double, kLatencyParts> LatencyMetrics::mean_split_ms() const {
  std::array<double, kLatencyParts> mean{};
  if (completed() == 0) return mean;
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    mean[i] = static_cast<double>(split_ns_[i]) / static_cast<double>(completed()) / kNsPerMs;
  }
  return mean;
}

std::vector<ValueRun> LatencyMetrics::sorted_runs(LatencyMetric metric) const {
  std::vector<ValueRun> runs;
  if (metric == LatencyMetric::kItl) {
    runs = gaps_;
  } else {
    const auto& values = metric == LatencyMetric::kTtft ? ttft_ns_ : e2el_ns_;
    runs.reserve(values.size());
    for (std::int64_t value : values) runs.push_back({value, 1});
  }
  sort_and_merge(runs);
  return runs;
}

Distribution LatencyMetrics::distribution_ms(LatencyMetric metric) const {
  if (metric == LatencyMetric::kTpot) return distribution_of(tpot_ms_);
  return distribution_of(sorted_runs(metric), kNsPerMs);
}

double LatencyMetrics::percentile_ms(LatencyMetric metric, double q) const {
  if (metric == LatencyMetric::kTpot) {
    std::vector<double> sorted = tpot_ms_;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0.0 : percentile(sorted, q);
  }
  const std::vector<ValueRun> runs = sorted_runs(metric);
  return runs.empty() ? 0.0 : percentile(runs, q) / kNsPerMs;
}

std::vector<std::pair<double, double>> LatencyMetrics::cdf_ms(LatencyMetric metric,
                                                              int points) const {
  std::vector<double> sorted = tpot_ms_;
  std::vector<ValueRun> runs;
  if (metric == LatencyMetric::kTpot) {
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty()) return {};
  } else {
    runs = sorted_runs(metric);
    if (runs.empty()) return {};
  }
  std::vector<std::pair<double, double>> curve;
  for (int i = 0; i <= points; ++i) {
    const double share = static_cast<double>(i) / points;
    const double ms = metric == LatencyMetric::kTpot ? percentile(sorted, 100 * share)
                                                     : percentile(runs, 100 * share) / kNsPerMs;
    curve.emplace_back(ms, share);
  }
  return curve;
}

}  // namespace headway
