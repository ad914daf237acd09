#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headway {

// One curve of a cumulative distribution: points (value in ms, share of requests at or below it),
// both ascending.
struct CdfCurve {
  std::string label;
  std::vector<std::pair<double, double>> points;
};

struct CdfPanel {
  std::string title;                // "Time to first token"
  double limit_ms = 0;              // an SLO drawn as a line; 0 = none
  std::vector<CdfCurve> curves;     // in the same order in every panel
};

// Panels side by side on logarithmic time axes, as one SVG that needs nothing else: follows the
// reader's light or dark theme, and tells each curve's median and p99 in its <desc>.
std::string cdf_svg(const std::vector<CdfPanel>& panels, const std::string& title);

}  // namespace headway
