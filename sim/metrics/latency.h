#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/metrics/observer.h"
#include "sim/metrics/statistics.h"

namespace headway {

enum class LatencyMetric : std::uint8_t { kTtft, kTpot, kItl, kE2el };

// Exact latencies, as vLLM's serving benchmark defines them: TTFT and E2EL from arrival (when the
// client sent the request, after any concurrency limit let it go), TPOT per request of two or more
// tokens, ITL pooled over all requests. Failed requests are counted, not measured.
//
// Memory: 24 bytes a finished request, 16 bytes a distinct gap.
class LatencyMetrics final : public Observer {
 public:
  void on_arrival(std::uint64_t request, SimTime now) override;
  void on_token_gaps(SimTime gap, std::int64_t count, SimTime now) override;
  // INV-3: arrival <= scheduled <= first token <= finish, and the parts sum to E2EL.
  void on_finish(const RequestRecord& request) override;

  std::int64_t arrived() const { return arrived_; }
  std::int64_t completed() const { return static_cast<std::int64_t>(ttft_ns_.size()); }
  std::int64_t failed() const { return failed_; }
  std::int64_t input_tokens() const { return input_tokens_; }  // of completed requests
  std::int64_t output_tokens() const { return output_tokens_; }
  std::int64_t cached_tokens() const { return cached_tokens_; }
  SimTime first_arrival() const { return first_arrival_; }
  SimTime last_arrival() const { return last_arrival_; }
  SimTime last_finish() const { return last_finish_; }  // of completed requests
  double mean_held_ms() const;
  std::array<double, kLatencyParts> mean_split_ms() const;  // sums to the mean E2EL

  Distribution distribution_ms(LatencyMetric metric) const;
  // Any percentile (0 to 100) in milliseconds; 0 when nothing was measured.
  double percentile_ms(LatencyMetric metric, double q) const;
  // The distribution as at most `points` + 1 pairs (value in ms, share at or below), by equal shares.
  std::vector<std::pair<double, double>> cdf_ms(LatencyMetric metric, int points) const;

 private:
  std::vector<ValueRun> sorted_runs(LatencyMetric metric) const;

  std::vector<std::int64_t> ttft_ns_, e2el_ns_;
  std::vector<double> tpot_ms_;
  std::vector<ValueRun> gaps_;
  std::size_t compact_at_ = std::size_t{1} << 16;  // runs; doubles with what is left distinct
  std::array<std::int64_t, kLatencyParts> split_ns_{};
  std::int64_t arrived_ = 0, failed_ = 0, input_tokens_ = 0, output_tokens_ = 0, cached_tokens_ = 0;
  std::int64_t held_ns_ = 0;
  SimTime first_arrival_, last_arrival_, last_finish_;
};

}  // namespace headway
