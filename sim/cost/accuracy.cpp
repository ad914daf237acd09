#include "sim/cost/accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/cost/measured_operators.h"

namespace headway {
namespace {

std::string variant_text(const ProfileTable& table) {
  std::string text;
  for (const auto& [key, value] : table.variant) {
    if (!text.empty()) text += ' ';
    text += key + '=' + value;
  }
  return text;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const std::size_t low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

void add_row(AccuracyReport& report, const ProfileTable& table, const char* held_out,
             const std::vector<double>& errors) {
  if (errors.empty()) return;
  std::vector<double> sizes;
  for (double e : errors) sizes.push_back(std::abs(e));
  report.push_back({table.op, variant_text(table), held_out, errors.size(),
                    100 * quantile(sizes, 0.5), 100 * quantile(sizes, 0.9),
                    100 * quantile(errors, 0.5)});
}

void add_table(AccuracyReport& report, const ProfileTable& table, std::size_t max_points) {
  const OperatorTable op = measured_operator(table);
  const std::size_t stride = (table.rows() + max_points - 1) / max_points;
  std::vector<double> inside, edge, site;
  for (std::size_t row = stride / 2; row < table.rows(); row += stride) {
    if (!table.flags.empty() && (table.flags[row] & kRowOutlier) != 0) continue;
    const Priced point = op.without_row(row, false);
    const double error = point.us / table.time_us[row] - 1;
    (point.from == Coverage::kInterpolated ? inside : edge).push_back(error);
    if (op.sites() > 1) site.push_back(op.without_row(row, true).us / table.time_us[row] - 1);
  }
  add_row(report, table, "point", inside);
  add_row(report, table, "edge", edge);
  add_row(report, table, "site", site);
}

}  // namespace

AccuracyReport profile_accuracy(const Profile& profile, std::size_t max_points) {
  AccuracyReport report;
  for (const ProfileTable& table : profile.tables) {
    if (has_price(table.op) && table.rows() >= 3) add_table(report, table, max_points);
  }
  return report;
}

std::string format_accuracy(const AccuracyReport& report) {
  std::size_t width = 8;
  for (const AccuracyRow& row : report) {
    width = std::max(width, row.op.size() + 1 + row.variant.size());
  }
  char line[512];
  std::snprintf(line, sizeof line, "%-*s  %-8s %7s %9s %9s %9s\n", static_cast<int>(width),
                "operator", "held out", "points", "median %", "p90 %", "bias %");
  std::string text = line;
  for (const AccuracyRow& row : report) {
    const std::string name = row.op + " " + row.variant;
    std::snprintf(line, sizeof line, "%-*s  %-8s %7zu %9.1f %9.1f %+9.1f\n",
                  static_cast<int>(width), name.c_str(), row.held_out.c_str(), row.points,
                  row.median_percent, row.p90_percent, row.bias_percent);
    text += line;
  }
  return text;
}

}  // namespace headway
