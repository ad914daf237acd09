#include "sim/cost/import/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headway {
namespace {

// What the axes say about one row: log(time / expected), the least alarming over the axes.
struct Verdict {
  int axes = 0;             // with a neighbour
  bool enclosed = false;    // some axis has both
  double least_high = 1e9;  // smallest log ratio above the expected time, over the axes
  double least_low = 1e9;   // the same below it
  void add(double above, double below) {
    ++axes;
    least_high = std::min(least_high, above);
    least_low = std::min(least_low, below);
  }
};

double log_key(const ProfileTable& t, std::size_t row, std::size_t axis) {
  return std::log(static_cast<double>(std::max<std::int64_t>(t.key(row, axis), 1)));
}

void judge_between(const ProfileTable& t, std::size_t axis, std::size_t before, std::size_t row,
                   std::size_t after, Verdict& verdict) {
  const double x0 = log_key(t, before, axis), x1 = log_key(t, after, axis);
  const double w = x1 > x0 ? (log_key(t, row, axis) - x0) / (x1 - x0) : 0.5;
  const double expected = (1 - w) * std::log(t.time_us[before]) + w * std::log(t.time_us[after]);
  const double ratio = std::log(t.time_us[row]) - expected;
  verdict.add(ratio, -ratio);
  verdict.enclosed = true;
}

void judge_at_end(const ProfileTable& t, std::size_t axis, std::size_t neighbour, std::size_t row,
                  Verdict& verdict) {
  const double same = std::log(t.time_us[neighbour]);
  const double scaled = same + log_key(t, row, axis) - log_key(t, neighbour, axis);
  const double time = std::log(t.time_us[row]);
  verdict.add(time - std::max(same, scaled), std::min(same, scaled) - time);
}

// Row numbers ordered so that rows which differ only along `axis` lie together, rising.
std::vector<std::size_t> order_along(const ProfileTable& t, std::size_t axis) {
  std::vector<std::size_t> order(t.rows());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < t.axes.size(); ++i) {
      if (i != axis && t.key(a, i) != t.key(b, i)) return t.key(a, i) < t.key(b, i);
    }
    return t.key(a, axis) < t.key(b, axis);
  });
  return order;
}

bool on_one_line(const ProfileTable& t, std::size_t axis, std::size_t a, std::size_t b) {
  for (std::size_t i = 0; i < t.axes.size(); ++i) {
    if (i != axis && t.key(a, i) != t.key(b, i)) return false;
  }
  return true;
}

void judge_axis(const ProfileTable& t, std::size_t axis, std::vector<Verdict>& verdicts) {
  const std::vector<std::size_t> order = order_along(t, axis);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t row = order[i];
    const bool before = i > 0 && on_one_line(t, axis, order[i - 1], row);
    const bool after = i + 1 < order.size() && on_one_line(t, axis, order[i + 1], row);
    if (before && after) {
      judge_between(t, axis, order[i - 1], row, order[i + 1], verdicts[row]);
    } else if (before || after) {
      judge_at_end(t, axis, before ? order[i - 1] : order[i + 1], row, verdicts[row]);
    }
  }
}

}  // namespace

int flag_outliers(ProfileTable& table, double factor) {
  std::vector<Verdict> verdicts(table.rows());
  for (std::size_t axis = 0; axis < table.axes.size(); ++axis) judge_axis(table, axis, verdicts);
  const double limit = std::log(factor);
  std::vector<std::uint8_t> flags(table.rows(), 0);
  int count = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const Verdict& v = verdicts[row];
    if (v.axes < 2 || !v.enclosed || (v.least_high <= limit && v.least_low <= limit)) continue;
    flags[row] |= kOutlierFlag;
    ++count;
  }
  if (count > 0) table.flags = std::move(flags);
  return count;
}

}  // namespace headway
