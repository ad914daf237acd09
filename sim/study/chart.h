#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headway {

// What a study has to draw; report/chart_svg.h draws it.
struct ChartSeries {
  std::string label;
  std::vector<std::pair<double, double>> points;  // in the order of the line
  bool dots = false;                              // marked, besides the line
};

struct Chart {
  std::string title, x_name, y_name;
  bool log_y = false;
  std::vector<ChartSeries> series;
  double limit = 0;  // an SLO, drawn as a line across; 0 = none
};

}  // namespace headway
