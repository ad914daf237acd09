#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/metrics/observer.h"
#include "sim/metrics/statistics.h"
#include "sim/metrics/value_sample.h"
#include "sim/metrics/value_sketch.h"

namespace headway {

enum class LatencyMetric : std::uint8_t { kTtft, kTpot, kItl, kE2el };

// Latencies, as vLLM's serving benchmark defines them: TTFT and E2EL from arrival (when the
// client sent the request, after any concurrency limit let it go), TPOT per request of two or more
// tokens, ITL pooled over all requests. Failed requests are counted, not measured.
//
// Exact up to `exact_requests` finished requests. From one more on, sketches answer for percentiles
// (ValueSketch): within 0.1 % (0.05 % and, for TPOT, half a picosecond); mean and std stay exact, TPOT's
// as rounded to the picosecond. ITL goes over earlier where it has more than `exact_gaps` gaps, those of
// equal length that end at one instant counted once.
//
// Memory while exact: 24 bytes a finished request and 8 to 24 a gap (at most 240 MB and 200 MB).
class LatencyMetrics final : public Observer {
 public:
  static constexpr std::int64_t kExactRequests = 10'000'000;
  static constexpr std::size_t kExactGaps = std::size_t{1} << 23;

  explicit LatencyMetrics(std::int64_t exact_requests = kExactRequests,
                          std::size_t exact_gaps = kExactGaps)
      : exact_requests_(exact_requests),
        ttft_ns_(static_cast<std::size_t>(exact_requests)),
        e2el_ns_(static_cast<std::size_t>(exact_requests)),
        gap_ns_(exact_gaps) {}

  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_token_gaps(SimTime gap, std::int64_t count, SimTime now) override;
  void on_decode_run(const DecodeRunRecord& run) override;
  // INV-3: arrival <= scheduled <= first token <= finish, and the parts sum to E2EL.
  void on_finish(const RequestRecord& request) override;

  std::int64_t arrived() const { return arrived_; }
  std::int64_t completed() const { return completed_; }
  std::int64_t failed() const { return failed_; }
  std::int64_t input_tokens() const { return input_tokens_; }  // of completed requests
  std::int64_t output_tokens() const { return output_tokens_; }
  std::int64_t cached_tokens() const { return cached_tokens_; }
  SimTime first_arrival() const { return first_arrival_; }
  SimTime last_arrival() const { return last_arrival_; }
  SimTime last_finish() const { return last_finish_; }  // of completed requests
  bool exact(LatencyMetric metric) const;               // its percentiles; else by a sketch
  double mean_held_ms() const;
  std::array<double, kLatencyParts> mean_split_ms() const;  // sums to the mean E2EL

  Distribution distribution_ms(LatencyMetric metric) const;
  // Any percentile (0 to 100) in milliseconds; 0 when nothing was measured.
  double percentile_ms(LatencyMetric metric, double q) const;
  // The distribution as at most `points` + 1 pairs (value in ms, share at or below), by equal shares.
  std::vector<std::pair<double, double>> cdf_ms(LatencyMetric metric, int points) const;
  // Several percentiles in one go; empty when nothing was measured.
  std::vector<double> percentiles_ms(LatencyMetric metric, std::span<const double> qs) const;

 private:
  void pour_tpot();
  const ValueSample* sample_of(LatencyMetric metric) const;  // null: TPOT's list
  std::vector<double> sorted_tpot() const;

  std::int64_t exact_requests_;
  ValueSample ttft_ns_, e2el_ns_, gap_ns_;
  std::deque<double> tpot_ms_;  // a deque: growing copies nothing
  std::optional<ValueSketch> tpot_ps_;
  std::array<std::int64_t, kLatencyParts> split_ns_{};
  std::int64_t arrived_ = 0, completed_ = 0, failed_ = 0;
  std::int64_t input_tokens_ = 0, output_tokens_ = 0, cached_tokens_ = 0;
  std::int64_t held_ns_ = 0;
  SimTime first_arrival_, last_arrival_, last_finish_;
};

}  // namespace headway
