#include "sim/report/cdf_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/svg_chart.h"

namespace headway {
namespace {

constexpr double kPanelWidth = 420, kPanelHeight = 300;
constexpr double kCdfLeft = 52, kCdfTop = 64, kCdfGap = 46, kCdfBottom = 74;
// Tell curves apart beside the colours.
constexpr const char* kDashes[] = {"", "8 4", "3 3", "10 3 2 3"};

std::string tick_text(double ms) {
  return ms >= 1000 ? fmt::format("{:g} s", ms / 1000) : fmt::format("{:g} ms", ms);
}

struct Axis {
  double low = 0, high = 1;  // log10 of ms
  double x(double ms) const {
    const double t = (std::log10(std::max(ms, 1e-3)) - low) / (high - low);
    return std::clamp(t, 0.0, 1.0) * kPanelWidth;
  }
};

Axis axis_for(const CdfPanel& panel) {
  double low = 1e300, high = 0;
  for (const CdfCurve& curve : panel.curves) {
    for (const auto& [ms, share] : curve.points) {
      low = std::min(low, std::max(ms, 1e-3));
      high = std::max(high, ms);
    }
  }
  if (high <= 0) return {0, 1};
  Axis axis{std::floor(std::log10(low)), std::ceil(std::log10(high))};
  if (axis.high <= axis.low) axis.high = axis.low + 1;
  return axis;
}

std::string frame(const Axis& axis) {
  std::string svg;
  for (double decade = axis.low; decade <= axis.high; ++decade) {
    const double ms = std::pow(10.0, decade), x = axis.x(ms);
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"0\" x2=\"{0:.1f}\" y2=\"{1}\"/>"
                       "<text x=\"{0:.1f}\" y=\"{2}\" text-anchor=\"middle\">{3}</text>\n",
                       x, kPanelHeight, kPanelHeight + 18, tick_text(ms));
  }
  for (int percent = 0; percent <= 100; percent += 25) {
    const double y = kPanelHeight * (1 - percent / 100.0);
    svg += fmt::format("<line class=\"grid\" x1=\"0\" y1=\"{0:.1f}\" x2=\"{1}\" y2=\"{0:.1f}\"/>"
                       "<text x=\"-8\" y=\"{2:.1f}\" text-anchor=\"end\">{3} %</text>\n",
                       y, kPanelWidth, y + 4, percent);
  }
  return svg;
}

std::string curve_path(const CdfCurve& curve, const Axis& axis, std::size_t index) {
  std::string path;
  for (const auto& [ms, share] : curve.points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", axis.x(ms),
                        kPanelHeight * (1 - share));
  }
  return fmt::format("<path class=\"curve\" stroke=\"{}\" stroke-dasharray=\"{}\" d=\"{}\"/>\n",
                     svg_colour(index), kDashes[index % std::size(kDashes)], path);
}

double value_at(const CdfCurve& curve, double share) {
  for (const auto& [ms, s] : curve.points) {
    if (s >= share) return ms;
  }
  return curve.points.empty() ? 0.0 : curve.points.back().first;
}

std::string description(const std::vector<CdfPanel>& panels) {
  std::string text;
  for (const CdfPanel& panel : panels) {
    text += panel.title + ": ";
    for (const CdfCurve& curve : panel.curves) {
      text += fmt::format("{} median {}, p99 {}; ", curve.label,
                          tick_text(std::round(value_at(curve, 0.5) * 10) / 10),
                          tick_text(std::round(value_at(curve, 0.99) * 10) / 10));
    }
  }
  return text;
}

std::string legend(const CdfPanel& panel) {
  std::string svg;
  double x = kCdfLeft;
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    svg += fmt::format("<line class=\"curve\" stroke=\"{}\" stroke-dasharray=\"{}\" x1=\"{:.1f}\" "
                       "x2=\"{:.1f}\" y1=\"44\" y2=\"44\"/><text x=\"{:.1f}\" y=\"48\">{}</text>\n",
                       svg_colour(i), kDashes[i % std::size(kDashes)], x, x + 26,
                       x + 32, svg_escaped(panel.curves[i].label));
    x += 50 + 7.2 * static_cast<double>(panel.curves[i].label.size());
  }
  return svg;
}

constexpr const char* kCdfStyle =
    "<style>text{font:13px system-ui,sans-serif;fill:#222}.title{font-size:16px;font-weight:600}"
    ".grid{stroke:#ddd}.limit{stroke:#888;stroke-dasharray:2 3}.curve{fill:none;stroke-width:2.2}"
    ".paper{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}"
    ".limit{stroke:#aaa}.paper{fill:#0d1117}}</style>\n";

}  // namespace

std::string cdf_svg(const std::vector<CdfPanel>& panels, const std::string& title) {
  const double count = static_cast<double>(panels.size());
  const double width = kCdfLeft + count * kPanelWidth + (count - 1) * (kCdfGap + 30) + 40;
  const double height = kCdfTop + kPanelHeight + kCdfBottom;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\">\n<title>{2}</title>\n<desc>{3}</desc>\n",
      width, height, svg_escaped(title), svg_escaped(description(panels)));
  svg += kCdfStyle;
  svg += fmt::format("<rect class=\"paper\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", width, height);
  svg += fmt::format("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", kCdfLeft,
                     svg_escaped(title));
  if (!panels.empty()) svg += legend(panels.front());
  double left = kCdfLeft;
  for (const CdfPanel& panel : panels) {
    const Axis axis = axis_for(panel);
    svg += fmt::format("<g transform=\"translate({:.1f},{})\">\n", left, kCdfTop) + frame(axis);
    if (panel.limit_ms > 0) {
      const double x = axis.x(panel.limit_ms);
      svg += fmt::format("<line class=\"limit\" x1=\"{0:.1f}\" y1=\"0\" x2=\"{0:.1f}\" y2=\"{1}\"/>"
                         "<text x=\"{2:.1f}\" y=\"{3}\">SLO {4}</text>\n",
                         x, kPanelHeight, x + 5, kPanelHeight - 6, tick_text(panel.limit_ms));
    }
    for (std::size_t i = 0; i < panel.curves.size(); ++i) svg += curve_path(panel.curves[i], axis, i);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n</g>\n",
                       kPanelWidth / 2, kPanelHeight + 46, svg_escaped(panel.title));
    left += kPanelWidth + kCdfGap + 30;
  }
  return svg + "</svg>\n";
}

}  // namespace headway
