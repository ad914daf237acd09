#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/pareto_text.h"
#include "sim/report/svg_chart.h"

namespace headway {
namespace {

constexpr double kFrontLeft = 74, kFrontTop = 76, kFrontWidth = 520, kFrontHeight = 380,
                 kFrontBottom = 62;
constexpr double kFrontLegend = kFrontLeft + kFrontWidth + 36, kFrontLine = 18, kFrontLetter = 7.2;
constexpr double kFrontNear = 14;      // dots so close have one label between them
constexpr double kFrontMargin = 1.12;  // around the outermost points

using Line = std::vector<std::pair<double, double>>;

LogPanel::Range range_of(const ParetoTable& table, double ParetoSetup::*value) {
  LogPanel::Range range{1e300, 0};
  for (const ParetoSetup& p : table.points) {
    if (p.status != ParetoSetup::Status::kOk || !(p.*value > 0)) continue;
    range.low = std::min(range.low, p.*value);
    range.high = std::max(range.high, p.*value);
  }
  if (range.high <= 0) return {1, 10};
  return {range.low / kFrontMargin, range.high * kFrontMargin};
}

std::string gpus_text(std::int32_t gpus) {
  return fmt::format("{} GPU{}", gpus, gpus > 1 ? "s" : "");
}

std::string beaten(const LogPanel& panel, const std::vector<const ParetoSetup*>& points,
                   const char* colour) {
  std::string svg;
  for (const ParetoSetup* p : points) {
    if (p->on_front) continue;
    svg += fmt::format(
        "<circle class=\"beaten\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" "
        "stroke=\"{}\"/>\n",
        panel.x(p->tokens_per_s_per_user), panel.y(p->tokens_per_s_per_gpu), colour);
  }
  return svg;
}

// The dots of a front, the first of them with that number; dots in one place share a label.
std::string dots(const LogPanel& panel, const Line& front, const char* colour, int number) {
  std::string svg, label;
  for (std::size_t i = 0; i < front.size(); ++i, ++number) {
    const double x = panel.x(front[i].first), y = panel.y(front[i].second);
    svg +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\"/>\n", x, y, colour);
    label += (label.empty() ? "" : ", ") + std::to_string(number);
    const bool next_is_near = i + 1 < front.size() &&
                              std::abs(panel.x(front[i + 1].first) - x) < kFrontNear &&
                              std::abs(panel.y(front[i + 1].second) - y) < kFrontNear;
    if (next_is_near) continue;
    svg += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 7, y - 6,
                       label);
    label.clear();
  }
  return svg;
}

// The setups of one front, numbered as their dots are.
std::string legend(const ParetoTable& table, std::int32_t gpus, const char* colour, int& number,
                   double& y) {
  std::string svg = fmt::format(
      "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4.5\" fill=\"{2}\"/><text x=\"{3:.1f}\" "
      "y=\"{4:.1f}\" font-weight=\"600\">{5}</text>\n",
      kFrontLegend, y - 4, colour, kFrontLegend + 12, y, gpus_text(gpus));
  for (const ParetoSetup* p : points_of(table.points, gpus)) {
    if (!p->on_front) continue;
    y += kFrontLine;
    svg += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}  {}</text>\n",
                       kFrontLegend + 12, y, number++, svg_escaped(short_label(table, *p)));
  }
  y += kFrontLine + 8;
  return svg;
}

std::string description(const ParetoTable& table) {
  std::string text;
  for (const std::int32_t gpus : gpu_counts(table.points)) {
    text += gpus_text(gpus) + ": ";
    for (const ParetoSetup* p : points_of(table.points, gpus)) {
      if (!p->on_front) continue;
      text +=
          fmt::format("{} {:.1f} tokens/s/user at {:.1f} tokens/s/GPU; ", short_label(table, *p),
                      p->tokens_per_s_per_user, p->tokens_per_s_per_gpu);
    }
  }
  return text;
}

}  // namespace

std::string pareto_svg(const ParetoTable& table) {
  const LogPanel panel(kFrontWidth, kFrontHeight,
                       range_of(table, &ParetoSetup::tokens_per_s_per_user),
                       range_of(table, &ParetoSetup::tokens_per_s_per_gpu));
  std::string drawn = panel.frame("tokens/s a user sees (1 / mean TPOT)", "output tokens/s/GPU");
  std::string beside = fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                                   kFrontLegend, kFrontTop - 22, svg_escaped(short_keys(table)));
  std::size_t series = 0, longest = short_keys(table).size();
  double y = kFrontTop + 4;
  int number = 1;
  for (const std::int32_t gpus : gpu_counts(table.points)) {
    const auto points = points_of(table.points, gpus);
    const char* const colour = svg_colour(series++);
    Line front;
    for (const ParetoSetup* p : points) {
      if (!p->on_front) continue;
      front.emplace_back(p->tokens_per_s_per_user, p->tokens_per_s_per_gpu);
      longest = std::max(longest, short_label(table, *p).size());
    }
    drawn += panel.path(front, "curve", fmt::format("stroke=\"{}\"", colour));
    drawn += beaten(panel, points, colour) + dots(panel, front, colour, number);
    beside += legend(table, gpus, colour, number, y);
  }
  const double width = kFrontLegend + 40 + kFrontLetter * static_cast<double>(longest);
  const double height = std::max(kFrontTop + kFrontHeight + kFrontBottom, y + 10);
  return svg_open(width, height, table.name + ": what a user sees against what a GPU yields",
                  description(table)) +
         "<style>.beaten{fill:none;stroke-width:1.4;opacity:.55}</style>\n" +
         fmt::format("<g transform=\"translate({},{})\">\n", kFrontLeft, kFrontTop) + drawn +
         "</g>\n" + beside + "</svg>\n";
}

}  // namespace headway
