#include "sim/metrics/latency.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "sim/core/errors.h"
#include "sim/metrics/decode_run.h"
#include "sim/metrics/slo.h"

namespace headway {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kPsPerMs = 1e9;

// Of the unit that a metric's sketch counts in.
double per_ms(LatencyMetric metric) {
  return metric == LatencyMetric::kTpot ? kPsPerMs : kNsPerMs;
}

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
  if (gap_sketch_) return gap_sketch_->add(gap.ns(), count);
  if (!gaps_.empty() && gaps_.back().value == gap.ns()) {
    gaps_.back().count += count;
    return;
  }
  if (gaps_.size() >= compact_at_) {
    sort_and_merge(gaps_);
    if (gaps_.size() > most_gap_runs_) {
      pour_gaps();
      return gap_sketch_->add(gap.ns(), count);
    }
    compact_at_ = std::max(compact_at_, 2 * gaps_.size());
  }
  gaps_.push_back({gap.ns(), count});
}

void LatencyMetrics::on_decode_run(const DecodeRunRecord& run) {
  std::size_t i = 1;
  for (; i < run.ends.size() && !gap_sketch_; ++i) {
    on_token_gaps(run.ends[i] - run.ends[i - 1], run.first.batch, run.ends[i]);
  }
  if (i == run.ends.size()) return;
  gap_sketch_->add_all(run.ends.size() - i, run.first.batch, [&](std::size_t k) {
    return (run.ends[i + k] - run.ends[i + k - 1]).ns();
  });
}

void LatencyMetrics::on_finish(const RequestRecord& r) {
  if (r.failed) {
    ++failed_;
    return;
  }
  check_causality(r);
  if (completed_++ == exact_requests_) pour_requests();
  const std::optional<double> tpot_ms = tpot_ms_of(r);
  if (sketches_) {
    add_to_sketches(ttft_of(r).ns(), e2el_of(r).ns(), tpot_ms);
  } else {
    ttft_ns_.push_back(ttft_of(r).ns());
    e2el_ns_.push_back(e2el_of(r).ns());
    if (tpot_ms) tpot_ms_.push_back(*tpot_ms);
  }
  for (std::size_t i = 0; i < kLatencyParts; ++i) split_ns_[i] += r.split[i].ns();
  input_tokens_ += r.prompt_tokens;
  output_tokens_ += r.output_tokens;
  cached_tokens_ += r.cached_tokens;
  held_ns_ += r.held.ns();
  last_finish_ = std::max(last_finish_, r.finish);
}

void LatencyMetrics::add_to_sketches(std::int64_t ttft_ns, std::int64_t e2el_ns,
                                     std::optional<double> tpot_ms) {
  sketches_->ttft_ns.add(ttft_ns);
  sketches_->e2el_ns.add(e2el_ns);
  if (tpot_ms) sketches_->tpot_ps.add(std::llround(*tpot_ms * kPsPerMs));
}

void LatencyMetrics::pour_requests() {
  sketches_.emplace();
  for (std::size_t i = 0; i < ttft_ns_.size(); ++i) {
    add_to_sketches(ttft_ns_[i], e2el_ns_[i], std::nullopt);
  }
  for (const double ms : tpot_ms_) sketches_->tpot_ps.add(std::llround(ms * kPsPerMs));
  ttft_ns_ = {};
  e2el_ns_ = {};
  tpot_ms_ = {};
  if (!gap_sketch_) pour_gaps();
}

void LatencyMetrics::pour_gaps() {
  gap_sketch_.emplace();
  for (const ValueRun& run : gaps_) gap_sketch_->add(run.value, run.count);
  gaps_ = {};
}

const ValueSketch* LatencyMetrics::sketch_of(LatencyMetric metric) const {
  if (metric == LatencyMetric::kItl) return gap_sketch_ ? &*gap_sketch_ : nullptr;
  if (!sketches_) return nullptr;
  if (metric == LatencyMetric::kTpot) return &sketches_->tpot_ps;
  return metric == LatencyMetric::kTtft ? &sketches_->ttft_ns : &sketches_->e2el_ns;
}

bool LatencyMetrics::exact(LatencyMetric metric) const { return sketch_of(metric) == nullptr; }

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
    const std::deque<std::int64_t>& values = metric == LatencyMetric::kTtft ? ttft_ns_ : e2el_ns_;
    runs.reserve(values.size());
    for (std::int64_t value : values) runs.push_back({value, 1});
  }
  sort_and_merge(runs);
  return runs;
}

std::vector<double> LatencyMetrics::sorted_tpot() const {
  std::vector<double> sorted(tpot_ms_.begin(), tpot_ms_.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Distribution LatencyMetrics::distribution_ms(LatencyMetric metric) const {
  if (const ValueSketch* sketch = sketch_of(metric)) return sketch->distribution(per_ms(metric));
  if (metric == LatencyMetric::kTpot) {
    return distribution_of(std::vector<double>(tpot_ms_.begin(), tpot_ms_.end()));
  }
  return distribution_of(sorted_runs(metric), kNsPerMs);
}

double LatencyMetrics::percentile_ms(LatencyMetric metric, double q) const {
  const auto curve = percentiles_ms(metric, {&q, 1});
  return curve.empty() ? 0.0 : curve.front();
}

std::vector<std::pair<double, double>> LatencyMetrics::cdf_ms(LatencyMetric metric,
                                                              int points) const {
  std::vector<double> qs;
  for (int i = 0; i <= points; ++i) qs.push_back(100.0 * (static_cast<double>(i) / points));
  const std::vector<double> values = percentiles_ms(metric, qs);
  std::vector<std::pair<double, double>> curve;
  for (std::size_t i = 0; i < values.size(); ++i) {
    curve.emplace_back(values[i], static_cast<double>(i) / points);
  }
  return curve;
}

std::vector<double> LatencyMetrics::percentiles_ms(LatencyMetric metric,
                                                   std::span<const double> qs) const {
  std::vector<double> values;
  if (const ValueSketch* sketch = sketch_of(metric)) {
    if (sketch->count() == 0) return {};
    for (double q : qs) values.push_back(sketch->percentile(q) / per_ms(metric));
  } else if (metric == LatencyMetric::kTpot) {
    const std::vector<double> sorted = sorted_tpot();
    if (sorted.empty()) return {};
    for (double q : qs) values.push_back(percentile(sorted, q));
  } else {
    const std::vector<ValueRun> runs = sorted_runs(metric);
    if (runs.empty()) return {};
    for (double q : qs) values.push_back(percentile(runs, q) / kNsPerMs);
  }
  return values;
}

}  // namespace headway
