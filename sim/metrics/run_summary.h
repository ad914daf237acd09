#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/metrics/class_metrics.h"
#include "sim/metrics/statistics.h"
#include "sim/metrics/utilisation.h"
#include "sim/metrics/verdict.h"

namespace headway {

// Every number of one run, unformatted. Definitions are those of vLLM's serving benchmark; failed
// requests are counted and left out of everything else but slo_attainment.
struct RunSummary {
  std::int64_t arrived = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;         // rejected or aborted
  std::int64_t input_tokens = 0;   // prompts of completed requests
  std::int64_t output_tokens = 0;  // emitted for completed requests
  std::int64_t cached_tokens = 0;  // of input_tokens, served by the prefix cache

  double simulated_s = 0;             // the clock at the end
  double duration_s = 0;              // first arrival to last finish: the throughput window
  double arrival_rate = 0;            // per second, first to last arrival; 0 when all at once
  double request_throughput = 0;      // per second
  double output_throughput = 0;       // tokens per second
  double total_token_throughput = 0;  // prompt and output tokens per second
  std::int64_t max_output_tokens_per_s = 0;  // fullest one-second bucket from the first arrival
  std::int64_t max_concurrent_requests = 0;  // most requests that touched such a bucket

  Distribution ttft_ms, tpot_ms, itl_ms, e2el_ms;
  // Whether their percentiles are exact, or within 0.1 % (LatencyMetrics): of TTFT, TPOT and E2EL
  // together, and of ITL.
  bool exact_percentiles = true, exact_itl = true;
  std::array<double, kLatencyParts> attribution_ms{};  // means; they sum to e2el_ms.mean
  double mean_held_ms = 0;  // waited for a concurrency limit before being sent

  SloLimits slo;
  std::optional<double> request_goodput;  // requests per second meeting every limit; unset: no SLO
  std::optional<double> slo_attainment;   // their share of all requests, failed ones included
  std::optional<double> ttft_attainment, tpot_attainment, e2el_attainment;
  std::vector<ClassSummary> classes;  // by class or tenant, where there are some

  UtilisationSummary engine;
  Verdict verdict;
};

}  // namespace headway
