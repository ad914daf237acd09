#include "sim/metrics/latency.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "sim/core/errors.h"
#include "sim/core/wide.h"
#include "sim/metrics/decode_run.h"
#include "sim/metrics/slo.h"

namespace headway {
namespace {

struct GapMoments {
  std::uint64_t sum, squares;  // the latter modulo 2^64
  std::int32_t least, most;
};

// A loop over 32 bits, which vectors hold twice as many of.
HEADWAY_WIDE GapMoments add_up(const std::int32_t* gaps, std::size_t n) {
  std::uint64_t sum = 0, squares = 0;
  std::int32_t least = std::numeric_limits<std::int32_t>::max(), most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto gap = static_cast<std::uint32_t>(gaps[i]);
    sum += gap;
    squares += std::uint64_t{gap} * gap;
    least = std::min(least, gaps[i]);
    most = std::max(most, gaps[i]);
  }
  return {sum, squares, least, most};
}

// REQUIRES: not empty.
ValueSums moments_of(std::span<const std::int32_t> gaps) {
  const GapMoments near = add_up(gaps.data(), gaps.size());
  ValueSums sums{static_cast<std::int64_t>(near.sum), near.squares, near.least, near.most};
  constexpr std::int32_t kNear = 1 << 26;  // 2048 squares below it fit a word
  if (near.most < kNear && gaps.size() <= 2048) return sums;
  sums.squares = 0;
  for (const std::int64_t gap : gaps) {
    sums.squares += static_cast<ValueSums::Squares>(gap) * static_cast<ValueSums::Squares>(gap);
  }
  return sums;
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
  if (count > 0) gap_ns_.add(gap.ns(), count);
}

void LatencyMetrics::on_decode_run(const DecodeRunRecord& run) {
  const std::span<const std::int32_t> gaps = run.gaps_ns.subspan(1);  // the first step's is told apart
  if (gaps.empty()) return;
  gap_ns_.add_all(gaps.size(), run.first.batch, moments_of(gaps),
                  [at = gaps.data()](std::size_t i) { return std::int64_t{at[i]}; });
}

void LatencyMetrics::on_finish(const RequestRecord& r) {
  if (r.failed) {
    ++failed_;
    return;
  }
  check_causality(r);
  if (completed_++ == exact_requests_) {
    pour_tpot();
    gap_ns_.forget();
  }
  ttft_ns_.add(ttft_of(r).ns());
  e2el_ns_.add(e2el_of(r).ns());
  if (const std::optional<double> tpot_ms = tpot_ms_of(r)) {
    if (tpot_ps_) {
      tpot_ps_->add(std::llround(*tpot_ms * kPicosecondsPerMs));
    } else {
      tpot_ms_.push_back(*tpot_ms);
    }
  }
  for (std::size_t i = 0; i < kLatencyParts; ++i) split_ns_[i] += r.split[i].ns();
  input_tokens_ += r.prompt_tokens;
  output_tokens_ += r.output_tokens;
  cached_tokens_ += r.cached_tokens;
  held_ns_ += r.held.ns();
  last_finish_ = std::max(last_finish_, r.finish);
}

void LatencyMetrics::pour_tpot() {
  tpot_ps_.emplace();
  for (const double ms : tpot_ms_) tpot_ps_->add(std::llround(ms * kPicosecondsPerMs));
  tpot_ms_ = {};
}

const ValueSample* LatencyMetrics::sample_of(LatencyMetric metric) const {
  switch (metric) {
    case LatencyMetric::kTtft: return &ttft_ns_;
    case LatencyMetric::kE2el: return &e2el_ns_;
    case LatencyMetric::kItl: return &gap_ns_;
    case LatencyMetric::kTpot: break;
  }
  return nullptr;
}

bool LatencyMetrics::exact(LatencyMetric metric) const {
  const ValueSample* sample = sample_of(metric);
  return sample == nullptr ? !tpot_ps_.has_value() : sample->exact();
}

double LatencyMetrics::mean_held_ms() const {
  if (completed() == 0) return 0;
  return static_cast<double>(held_ns_) / static_cast<double>(completed()) / kNanosecondsPerMs;
}

std::array<double, kLatencyParts> LatencyMetrics::mean_split_ms() const {
  std::array<double, kLatencyParts> mean{};
  if (completed() == 0) return mean;
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    mean[i] = static_cast<double>(split_ns_[i]) / static_cast<double>(completed()) / kNanosecondsPerMs;
  }
  return mean;
}

std::vector<double> LatencyMetrics::sorted_tpot() const {
  std::vector<double> sorted(tpot_ms_.begin(), tpot_ms_.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Distribution LatencyMetrics::distribution_ms(LatencyMetric metric) const {
  if (const ValueSample* sample = sample_of(metric)) return sample->distribution(kNanosecondsPerMs);
  if (tpot_ps_) return tpot_ps_->distribution(kPicosecondsPerMs);
  return distribution_of(std::vector<double>(tpot_ms_.begin(), tpot_ms_.end()));
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
  if (const ValueSample* sample = sample_of(metric)) {
    if (sample->count() == 0) return {};
    values = sample->percentiles(qs);
    for (double& value : values) value /= kNanosecondsPerMs;
  } else if (tpot_ps_) {
    if (tpot_ps_->count() == 0) return {};
    for (double q : qs) values.push_back(tpot_ps_->percentile(q) / kPicosecondsPerMs);
  } else if (!tpot_ms_.empty()) {
    const std::vector<double> sorted = sorted_tpot();
    for (double q : qs) values.push_back(percentile(sorted, q));
  }
  return values;
}

}  // namespace headway
