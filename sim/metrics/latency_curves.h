#pragma once

#include <array>
#include <vector>

#include "sim/metrics/latency.h"

namespace headway {

inline constexpr std::size_t kLatencyMetrics = 4;

// The distributions of a run as curves: values_ms[metric][i] is what the share `shares[i]` of them
// does not exceed. Half a percent apart, and finer towards the slowest.
struct LatencyCurves {
  std::vector<double> shares;                                     // 0 to 1, ascending
  std::array<std::vector<double>, kLatencyMetrics> values_ms{};  // by LatencyMetric; empty: none
};
LatencyCurves curves_of(const LatencyMetrics& latency);

}  // namespace headway
