#include "kernels/validate/comparison.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway::kernels {

const std::array<FigureRow, kFigures>& figure_rows() {
  static constexpr std::array<FigureRow, kFigures> kRows{{
      {"ttft_ms", "TTFT mean ms", false},
      {"tpot_ms", "TPOT mean ms", true},
      {"e2el_ms", "E2EL mean ms", true},
      {"output_throughput", "output tok/s", true},
  }};
  return kRows;
}

Figures figures_of(const RunSummary& s) {
  return {s.ttft_ms.mean, s.tpot_ms.mean, s.e2el_ms.mean, s.output_throughput};
}

Comparison compare(const std::vector<double>& runs, double predicted) {
  SIM_CHECK(!runs.empty());
  Comparison c;
  const double n = static_cast<double>(runs.size());
  for (const double run : runs) c.measured += run / n;
  c.predicted = predicted;
  c.error = c.measured > 0 ? predicted / c.measured - 1 : 0;
  if (runs.size() > 1 && c.measured > 0) {
    double squares = 0;
    for (const double run : runs) squares += (run - c.measured) * (run - c.measured);
    c.noise = std::sqrt(squares / (n - 1)) / c.measured;
  }
  c.allowed = std::max(kAllowedError, kNoiseMultiple * c.noise);
  return c;
}

}  // namespace headway::kernels
