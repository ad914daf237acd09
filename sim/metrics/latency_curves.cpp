#include "sim/metrics/latency_curves.h"

namespace headway {

LatencyCurves curves_of(const LatencyMetrics& latency) {
  std::vector<double> percents;
  for (int i = 0; i < 198; ++i) percents.push_back(i / 2.0);
  for (int i = 990; i < 999; ++i) percents.push_back(i / 10.0);
  percents.insert(percents.end(), {99.9, 99.95, 99.99, 100});
  LatencyCurves curves;
  for (const double percent : percents) curves.shares.push_back(percent / 100);
  for (std::size_t m = 0; m < kLatencyMetrics; ++m) {
    curves.values_ms[m] = latency.percentiles_ms(static_cast<LatencyMetric>(m), percents);
  }
  return curves;
}

}  // namespace headway
