#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/number_text.h"
#include "sim/report/roofline_report.h"
#include "sim/report/svg_chart.h"

namespace headway {
namespace {

constexpr double kRoofWidth = 520, kRoofHeight = 360;
constexpr double kRoofLeft = 72, kRoofTop = 84, kRoofGap = 96, kRoofBottom = 66;
constexpr std::size_t kPassesDrawn = 4;  // the prefill and three batches
constexpr double kLine = 15;             // between two labels

// Operators of one pass with about the same intensity: one dot, one label.
struct Dot {
  double intensity = 0, flops_per_s = 0;
  std::string label;
  std::size_t pass = 0;
};

std::vector<const PassReport*> passes_of(const RooflineReport& r) {
  std::vector<const PassReport*> passes = {&r.prefill};
  for (const PassReport& pass : r.generation) {
    if (passes.size() < kPassesDrawn) passes.push_back(&pass);
  }
  return passes;
}

std::vector<Dot> dots_of(const std::vector<const PassReport*>& passes, double lowest,
                         double highest) {
  std::vector<Dot> dots;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const std::size_t first = dots.size();
    for (const OperatorRow& op : passes[p]->operators) {
      if (op.flops <= 0 || op.bytes() <= 0) continue;  // it only moves
      const double at = std::clamp(op.intensity(), lowest, highest);
      const auto same = std::find_if(
          dots.begin() + static_cast<std::ptrdiff_t>(first), dots.end(),
          [&](const Dot& dot) { return std::abs(std::log(dot.intensity / at)) < 0.12; });
      if (same == dots.end()) {
        dots.push_back({at, op.flops / op.time_s, op.name, p});
      } else if ((", " + same->label + ", ").find(", " + op.name + ", ") == std::string::npos) {
        same->label += ", " + op.name;
      }
    }
  }
  std::sort(dots.begin(), dots.end(),
            [](const Dot& a, const Dot& b) { return a.intensity < b.intensity; });
  return dots;
}

struct Box {
  double left, top, right;
};

// Labels below and to the right of their dots, moved down until they lie on no other.
std::string labelled_dots(const LogPanel& panel, const std::vector<Dot>& dots) {
  std::string svg, circles;
  std::vector<Box> taken;
  for (const Dot& dot : dots) {
    const double x = panel.x(dot.intensity), y = panel.y(dot.flops_per_s);
    const double wide = 6.6 * static_cast<double>(dot.label.size());
    const double left = std::min(x + 10, panel.width() - wide);
    double top = y + 14;
    const auto lies_on = [&](const Box& box) {
      return left < box.right + 6 && left + wide + 6 > box.left && std::abs(top - box.top) < kLine;
    };
    while (top < panel.height() - 6 && std::any_of(taken.begin(), taken.end(), lies_on)) top += 3;
    taken.push_back({left, top, left + wide});
    svg += fmt::format(
        "<path class=\"leader\" d=\"M{:.1f} {:.1f} L{:.1f} {:.1f}\"/>"
        "<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        x, y, left - 2, top - 4, left, top, svg_escaped(dot.label));
    circles += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", x, y,
                           svg_colour(dot.pass));
  }
  return svg + circles;
}

std::string roof_panel(const RooflineReport& r) {
  const GpuSpec& gpu = r.question.gpu;
  const std::vector<const PassReport*> passes = passes_of(r);
  double highest_peak = gpu.flops_bf16, lowest = 0.5, highest = 10;
  for (const PassReport* pass : passes) {
    for (const OperatorRow& op : pass->operators) {
      if (op.flops <= 0) continue;
      highest_peak = std::max(highest_peak, op.peak_flops);
      lowest = std::min(lowest, op.intensity());
      highest = std::max(highest, op.intensity());
    }
  }
  lowest = std::max(lowest * 0.7, 0.05);
  highest = std::max(highest * 3, 4 * highest_peak / gpu.memory_bandwidth);
  // A decade below the lowest dot is left for labels.
  const LogPanel panel(kRoofWidth, kRoofHeight, {lowest, highest},
                       {lowest * gpu.memory_bandwidth / 10, highest_peak * 2});
  std::string svg = panel.frame("FLOPs a byte", "FLOP/s, at most");
  std::vector<double> peaks;
  for (const PassReport* pass : passes) {
    for (const OperatorRow& op : pass->operators) {
      if (op.flops > 0 && std::find(peaks.begin(), peaks.end(), op.peak_flops) == peaks.end()) {
        peaks.push_back(op.peak_flops);
      }
    }
  }
  for (const double peak : peaks) {
    const double bend = peak / gpu.memory_bandwidth;
    svg += panel.path({{lowest, lowest * gpu.memory_bandwidth}, {bend, peak}, {highest, peak}},
                      "roof");
    svg += fmt::format(
        "<line class=\"limit\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2}\"/>"
        "<text class=\"small\" x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">ridge "
        "{4}</text>\n",
        panel.x(bend), panel.y(peak), kRoofHeight, panel.y(peak) - 8, fixed(bend, 0));
  }
  svg += labelled_dots(panel, dots_of(passes, lowest, highest));
  double x = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"-38\" r=\"5\" fill=\"{}\"/>"
        "<text class=\"small\" x=\"{:.1f}\" y=\"-34\">{}</text>\n",
        x, svg_colour(i), x + 9, passes[i]->name());
    x += 26 + 6.4 * static_cast<double>(passes[i]->name().size());
  }
  return svg;
}

std::string curve_panel(const RooflineReport& r) {
  std::vector<std::pair<double, double>> inside, beyond;
  for (const SweepRow& row : r.curve) {
    const std::pair<double, double> point{row.operators_s * 1e3, row.operators_tokens_per_s()};
    if (row.fit != Fit::kNo) inside.push_back(point);
    if (row.fit == Fit::kNo || row.bound.batch == static_cast<double>(r.largest_batch))
      beyond.push_back(point);
  }
  const SweepRow &first = r.curve.front(), &last = r.curve.back();
  double top = 0;
  for (const SweepRow& row : r.curve) top = std::max(top, row.operators_tokens_per_s());
  const LogPanel panel(kRoofWidth, kRoofHeight,
                       {first.operators_s * 1e3 / 1.3, last.operators_s * 1e3 * 1.6},
                       {first.operators_tokens_per_s() / 1.5, top * 2});
  std::string svg = panel.frame("ms a token (all operators at their rooflines)", "tokens/s");
  const std::string colour = svg_colour(1);
  if (!inside.empty()) svg += panel.path(inside, "curve", "stroke=\"" + colour + "\"");
  if (!beyond.empty())
    svg += panel.path(beyond, "curve", "stroke=\"" + colour + "\" stroke-dasharray=\"3 5\"");
  const auto mark = [&](const SweepRow& row, const std::string& label, bool above) {
    const double x = panel.x(row.operators_s * 1e3), y = panel.y(row.operators_tokens_per_s());
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/><text class=\"small\" "
        "x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
        x, y, svg_colour(above ? 0 : 1), above ? x - 9 : x + 9, above ? y - 6 : y + 14,
        above ? "end" : "start", label);
  };
  for (const SweepRow& row : r.sweep) {
    const std::string label = fmt::format("B = {:.0f}", row.bound.batch);
    mark(row, row.fit == Fit::kNo ? label + ": does not fit" : label, false);
  }
  for (const SweepRow& row : r.curve) {
    if (row.bound.batch != static_cast<double>(r.largest_batch)) continue;
    mark(row, fmt::format("memory ends at B = {:.0f}", row.bound.batch), true);
    break;
  }
  return svg;
}

std::string description(const RooflineReport& r) {
  std::string text = fmt::format("Operators under the roofline of {}: ", r.question.gpu.name);
  for (const PassReport* pass : passes_of(r)) {
    text += fmt::format("{} takes {}; ", pass->name(), time_text(pass->time_s));
  }
  return text + fmt::format("the largest batch that fits is {}.", r.largest_batch);
}

}  // namespace

std::string roofline_svg(const RooflineReport& r) {
  const RooflineQuestion& q = r.question;
  const std::string title = fmt::format(
      "{} on {}{}, {} tokens a sequence, weights {}, KV {}", q.model.name,
      q.tensor_parallel_size > 1 ? std::to_string(q.tensor_parallel_size) + " x " : "", q.gpu.name,
      q.context_tokens, dtype_name(q.precision.weights), dtype_name(q.precision.kv));
  const double width = kRoofLeft + 2 * kRoofWidth + kRoofGap + 30;
  const double height = kRoofTop + kRoofHeight + kRoofBottom;
  return svg_open(width, height, title, description(r)) +
         fmt::format("<g transform=\"translate({},{})\">\n", kRoofLeft, kRoofTop) + roof_panel(r) +
         "</g>\n" +
         fmt::format("<g transform=\"translate({},{})\">\n", kRoofLeft + kRoofWidth + kRoofGap,
                     kRoofTop) +
         curve_panel(r) + "</g>\n</svg>\n";
}

}  // namespace headway
