#include "sim/report/paired_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/core/errors.h"
#include "sim/metrics/paired.h"
#include "sim/report/compare_columns.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;
using Better = CompareColumn::Better;

struct Finding {
  const CompareColumn* column = nullptr;
  double baseline = 0;  // mean of the first row
  PairedDifference difference;
};

std::optional<Finding> compare(const CompareColumn& column, const CompareRow& first,
                               const CompareRow& row, std::uint64_t seed) {
  std::vector<double> a, b;
  for (std::size_t i = 0; i < first.runs.size(); ++i) {
    const std::optional<double> before = column.of(first.runs[i]), after = column.of(row.runs[i]);
    if (!before || !after) return std::nullopt;  // a run that finished nothing has no such value
    a.push_back(*before);
    b.push_back(*after);
  }
  double sum = 0;
  bool same = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i];
    same = same && a[i] == 0 && b[i] == 0;
  }
  if (same && column.hide_zero) return std::nullopt;
  return Finding{&column, sum / static_cast<double>(a.size()), paired_difference(a, b, seed)};
}

std::vector<Finding> findings(const CompareRow& first, const CompareRow& row, std::uint64_t seed) {
  SIM_CHECK(first.runs.size() == row.runs.size() && first.runs.size() >= 2,
            "as many replicates of each variant, two or more");
  std::vector<Finding> found;
  for (const CompareColumn& column : compare_columns()) {
    if (column.better == Better::kNone) continue;
    if (const auto finding = compare(column, first, row, seed)) found.push_back(*finding);
  }
  return found;
}

std::string verdict(const Finding& f) {
  if (!f.difference.shown()) return "no difference shown";
  const bool lower = f.difference.mean < 0;
  const bool good = lower == (f.column->better == Better::kLow);
  return std::string(lower ? "lower" : "higher") + (good ? ", better" : ", worse");
}

std::string signed_number(double value) {
  const double size = std::abs(value);
  return fmt::format("{:+.{}f}", value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3);
}

std::string percent(const Finding& f) {
  if (f.baseline == 0) return "-";
  return fmt::format("{:+.1f} %", 100 * f.difference.mean / f.baseline);
}

std::string heading(const CompareRow& first, const CompareRow& row) {
  return fmt::format("{} against {}: {} pairs of runs with the same arrivals, 95 % intervals",
                     row.label, first.label, row.runs.size());
}

}  // namespace

std::string paired_text(const std::vector<CompareRow>& rows, std::uint64_t seed) {
  std::string out;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    out += "\n" + heading(rows.front(), rows[r]) + "\n";
    for (const Finding& f : findings(rows.front(), rows[r], seed)) {
      const PairedDifference& d = f.difference;
      out += fmt::format("  {:<8} {:<8} {:>10}  [{:>9}, {:>9}]  {:>9}  {}\n", f.column->head,
                         f.column->unit, signed_number(d.mean), signed_number(d.low),
                         signed_number(d.high), percent(f), verdict(f));
    }
  }
  return out;
}

std::string paired_markdown(const std::vector<CompareRow>& rows, std::uint64_t seed) {
  std::string out;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    out += "\n" + heading(rows.front(), rows[r]) +
           "\n\n| metric | difference | from | to | share | |\n|---|---:|---:|---:|---:|---|\n";
    for (const Finding& f : findings(rows.front(), rows[r], seed)) {
      const PairedDifference& d = f.difference;
      out += fmt::format("| {} {} | {} | {} | {} | {} | {} |\n", f.column->head, f.column->unit,
                         signed_number(d.mean), signed_number(d.low), signed_number(d.high),
                         percent(f), verdict(f));
    }
  }
  return out;
}

Json paired_json(const std::vector<CompareRow>& rows, std::uint64_t seed) {
  Json out = Json::array();
  for (std::size_t r = 1; r < rows.size(); ++r) {
    Json metrics = Json::object();
    for (const Finding& f : findings(rows.front(), rows[r], seed)) {
      const PairedDifference& d = f.difference;
      metrics[std::string(f.column->tag)] = {{"difference", d.mean},
                                             {"low", d.low},
                                             {"high", d.high},
                                             {"shown", d.shown()}};
    }
    out.push_back({{"label", rows[r].label},
                   {"against", rows.front().label},
                   {"pairs", rows[r].runs.size()},
                   {"level", kIntervalLevel},
                   {"metrics", metrics}});
  }
  return out;
}

}  // namespace headway
