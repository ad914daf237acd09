#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/metrics/run_summary.h"

namespace headway::kernels {

// The figures that a prediction is held to, as one run yields them.
enum class Figure { kTtft, kTpot, kE2el, kThroughput };
inline constexpr int kFigures = 4;
struct FigureRow {
  const char* key;   // "tpot_ms"
  const char* name;  // "TPOT mean (ms)"
  bool judged;       // whether the verdict below the knee hangs on it
};
const std::array<FigureRow, kFigures>& figure_rows();

using Figures = std::array<double, kFigures>;
Figures figures_of(const RunSummary& summary);

// Predicted against measured, over repeated measurements of the same thing.
struct Comparison {
  double measured = 0;  // mean of the runs
  double predicted = 0;
  double error = 0;    // predicted / measured - 1
  double noise = 0;    // standard deviation between runs over their mean; 0 for a single run
  double allowed = 0;  // max(10 %, 3 x noise)
  bool within() const { return error <= allowed && error >= -allowed; }
};
// REQUIRES: at least one run.
Comparison compare(const std::vector<double>& runs, double predicted);

inline constexpr double kAllowedError = 0.10, kNoiseMultiple = 3;

}  // namespace headway::kernels
