#include "sim/report/chart_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/svg_chart.h"

namespace headway {
namespace {

constexpr double kChartWidth = 430, kChartHeight = 300, kChartLeft = 70, kChartTop = 86,
                 kChartGap = 90, kChartLine = 18;
constexpr double kChartBelow = 56;  // from an axis to its legend
constexpr const char* kChartDashes[] = {"", "8 4", "3 3", "10 3 2 3"};

// One axis, from the least to the most that is drawn.
class Scale {
 public:
  Scale(double low, double high, bool log, double length, bool up)
      : log_(log), up_(up), length_(length) {
    low_ = log ? std::log10(low) : std::min(low, 0.0);
    high_ = log ? std::log10(high) : high;
    if (log) {
      low_ -= 0.05;
      high_ += 0.05;
    }
    if (!(high_ > low_)) high_ = low_ + 1;
  }

  bool has(double value) const { return !log_ || value > 0; }
  double at(double value) const {
    const double share = ((log_ ? std::log10(value) : value) - low_) / (high_ - low_);
    return (up_ ? 1 - share : share) * length_;
  }
  std::vector<double> ticks() const { return log_ ? log_ticks(low_, high_) : even_ticks(); }

 private:
  std::vector<double> even_ticks() const {
    const double rough = (high_ - low_) / 5, decade = std::pow(10, std::floor(std::log10(rough)));
    double step = decade;
    for (const double factor : {2.0, 5.0, 10.0}) {
      if (step < rough) step = decade * factor;
    }
    std::vector<double> values;
    for (double n = std::ceil(low_ / step); n * step <= high_ * (1 + 1e-9); ++n) {
      values.push_back(n * step);
    }
    return values;
  }

  bool log_, up_;
  double length_, low_ = 0, high_ = 1;
};

class Panel {
 public:
  explicit Panel(const Chart& chart)
      : chart_(chart), x_(scale(chart, false)), y_(scale(chart, true)) {}

  std::string draw() const {
    std::string svg = frame();
    if (chart_.limit > 0) {
      svg += fmt::format(
          "<line class=\"limit\" x1=\"0\" x2=\"{0}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\"/>"
          "<text class=\"small\" x=\"{2}\" y=\"{3:.1f}\" text-anchor=\"end\">SLO"
          "</text>\n",
          kChartWidth, y_.at(chart_.limit), kChartWidth - 4, y_.at(chart_.limit) - 5);
    }
    for (std::size_t i = 0; i < chart_.series.size(); ++i) svg += series(i) + legend(i);
    return svg;
  }

 private:
  static Scale scale(const Chart& chart, bool y) {
    const bool log = y && chart.log_y;
    double low = 1e300, high = log ? 1e-300 : 0;
    const auto take = [&](double value) {
      if (log && value <= 0) return;
      low = std::min(low, value);
      high = std::max(high, value);
    };
    for (const ChartSeries& series : chart.series) {
      for (const auto& point : series.points) take(y ? point.second : point.first);
    }
    if (y && chart.limit > 0) take(chart.limit);
    if (low > high) low = high = 1;
    return Scale(low, y && !log ? high * 1.05 : high, log, y ? kChartHeight : kChartWidth, y);
  }

  std::string frame() const {
    std::string svg;
    for (const double value : x_.ticks()) {
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"0\" x2=\"{0:.1f}\" y2=\"{1}\"/>"
          "<text x=\"{0:.1f}\" y=\"{2}\" text-anchor=\"middle\">{3}</text>\n",
          x_.at(value), kChartHeight, kChartHeight + 18, svg_number(value));
    }
    for (const double value : y_.ticks()) {
      svg += fmt::format(
          "<line class=\"grid\" x1=\"0\" y1=\"{0:.1f}\" x2=\"{1}\" y2=\"{0:.1f}\"/>"
          "<text x=\"-8\" y=\"{2:.1f}\" text-anchor=\"end\">{3}</text>\n",
          y_.at(value), kChartWidth, y_.at(value) + 4, svg_number(value));
    }
    return svg + fmt::format(
                     "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
                     "<text x=\"-50\" y=\"-12\">{}</text>\n"
                     "<text x=\"-50\" y=\"-32\" font-weight=\"600\">{}</text>\n",
                     kChartWidth / 2, kChartHeight + 38, svg_escaped(chart_.x_name),
                     svg_escaped(chart_.y_name), svg_escaped(chart_.title));
  }

  std::string stroke(std::size_t i) const {
    return fmt::format("stroke=\"{}\" stroke-dasharray=\"{}\"", svg_colour(i),
                       kChartDashes[(i / 7) % std::size(kChartDashes)]);
  }

  std::string series(std::size_t i) const {
    std::string path, dots;
    for (const auto& [px, py] : chart_.series[i].points) {
      if (!y_.has(py)) continue;
      const double x = x_.at(px), y = y_.at(py);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x, y);
      if (!chart_.series[i].dots) continue;
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x, y,
                          svg_colour(i));
    }
    return fmt::format("<path class=\"curve\" {} d=\"{}\"/>\n", stroke(i), path) + dots;
  }

  std::string legend(std::size_t i) const {
    const double y = kChartHeight + kChartBelow + kChartLine * static_cast<double>(i);
    return fmt::format(
        "<line class=\"curve\" {} x1=\"0\" x2=\"26\" y1=\"{}\" y2=\"{}\"/>"
        "<text class=\"small\" x=\"34\" y=\"{}\">{}</text>\n",
        stroke(i), y, y, y + 4, svg_escaped(chart_.series[i].label));
  }

  const Chart& chart_;
  Scale x_, y_;
};

std::string description(const std::vector<Chart>& charts) {
  std::string text;
  for (const Chart& chart : charts) {
    text += fmt::format("{} ({} by {}): ", chart.title, chart.y_name, chart.x_name);
    for (const ChartSeries& series : chart.series) {
      text += series.label + ":";
      for (const auto& [x, y] : series.points) text += fmt::format(" {:.4g} {:.4g},", x, y);
      text += "; ";
    }
  }
  return text;
}

}  // namespace

std::string chart_svg(const std::vector<Chart>& charts, const std::string& title) {
  std::size_t lines = 0;
  for (const Chart& chart : charts) lines = std::max(lines, chart.series.size());
  const auto count = static_cast<double>(charts.size());
  const double width = kChartLeft + count * kChartWidth + std::max(count - 1, 0.0) * kChartGap + 40;
  const double height =
      kChartTop + kChartHeight + kChartBelow + kChartLine * static_cast<double>(lines) + 10;
  std::string svg = svg_open(width, height, title, description(charts));
  double left = kChartLeft;
  for (const Chart& chart : charts) {
    svg += fmt::format("<g transform=\"translate({},{})\">\n", left, kChartTop) +
           Panel(chart).draw() + "</g>\n";
    left += kChartWidth + kChartGap;
  }
  return svg + "</svg>\n";
}

}  // namespace headway
