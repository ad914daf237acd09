#include "sim/report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace headway {
namespace {

constexpr const char* kColours[] = {"#d55e00", "#0072b2", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#999999"};

constexpr const char* kStyle =
    "<style>text{font:13px system-ui,sans-serif;fill:#222}.title{font-size:16px;font-weight:600}"
    ".small{font-size:12px}.grid{stroke:#ddd}.roof{fill:none;stroke:#444;stroke-width:2.4}"
    ".leader{fill:none;stroke:#aaa}.curve{fill:none;stroke-width:2.4}.limit{stroke:#888;"
    "stroke-dasharray:2 3}.paper{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}"
    ".grid{stroke:#333}.roof{stroke:#ccc}.leader{stroke:#666}.limit{stroke:#aaa}"
    ".paper{fill:#0d1117}}</style>\n";

}  // namespace

std::vector<double> log_ticks(double low, double high) {
  static const std::vector<double> kSteps[] = {
      {1}, {1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9},
      {1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5}};
  std::vector<double> values;
  for (const std::vector<double>& steps : kSteps) {
    values.clear();
    for (double decade = std::floor(low); decade <= high + 1e-9; ++decade) {
      for (const double step : steps) {
        const double at = decade + std::log10(step);
        if (at >= low - 1e-9 && at <= high + 1e-9) values.push_back(std::pow(10.0, decade) * step);
      }
    }
    if (values.size() >= 3) break;
  }
  return values;
}

LogPanel::LogPanel(double width, double height, Range x, Range y)
    : width_(width),
      height_(height),
      x_low_(std::log10(x.low)),
      x_high_(std::max(std::log10(x.high), x_low_ + 0.1)),
      y_low_(std::log10(y.low)),
      y_high_(std::max(std::log10(y.high), y_low_ + 0.1)) {}

double LogPanel::x(double value) const {
  const double share = (std::log10(value) - x_low_) / (x_high_ - x_low_);
  return std::clamp(share, 0.0, 1.0) * width_;
}

double LogPanel::y(double value) const {
  const double share = (std::log10(value) - y_low_) / (y_high_ - y_low_);
  return (1 - std::clamp(share, 0.0, 1.0)) * height_;
}

std::string LogPanel::frame(const std::string& x_name, const std::string& y_name) const {
  std::string svg;
  for (const double value : log_ticks(x_low_, x_high_)) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"0\" x2=\"{0:.1f}\" y2=\"{1}\"/>"
        "<text x=\"{0:.1f}\" y=\"{2}\" text-anchor=\"middle\">{3}</text>\n",
        x(value), height_, height_ + 18, svg_number(value));
  }
  for (const double value : log_ticks(y_low_, y_high_)) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"0\" y1=\"{0:.1f}\" x2=\"{1}\" y2=\"{0:.1f}\"/>"
        "<text x=\"-8\" y=\"{2:.1f}\" text-anchor=\"end\">{3}</text>\n",
        y(value), width_, y(value) + 4, svg_number(value));
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     width_ / 2, height_ + 42, svg_escaped(x_name));
  return svg + fmt::format("<text x=\"-44\" y=\"-12\">{}</text>\n", svg_escaped(y_name));
}

std::string LogPanel::path(const std::vector<std::pair<double, double>>& points,
                           const std::string& css, const std::string& style) const {
  std::string d;
  for (const auto& [px, py] : points) {
    d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : " L", x(px), y(py));
  }
  return fmt::format("<path class=\"{}\" {} d=\"{}\"/>\n", css, style, d);
}

std::string svg_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string svg_number(double value) {
  const char* const units[] = {"", "k", "M", "G", "T", "P"};
  std::size_t unit = 0;
  for (; unit + 1 < std::size(units) && value >= 999.5; ++unit) value /= 1000;
  return fmt::format("{:.3g}{}", value, units[unit]);
}

const char* svg_colour(std::size_t index) { return kColours[index % std::size(kColours)]; }

std::string svg_open(double width, double height, const std::string& title,
                     const std::string& description) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\" "
             "width=\"{0:.0f}\" height=\"{1:.0f}\">\n<title>{2}</title>\n<desc>{3}</desc>\n",
             width, height, svg_escaped(title), svg_escaped(description)) +
         kStyle +
         fmt::format(
             "<rect class=\"paper\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n"
             "<text class=\"title\" x=\"24\" y=\"26\">{}</text>\n",
             width, height, svg_escaped(title));
}

}  // namespace headway
