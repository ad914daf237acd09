#include "kernels/profiler/printing.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "kernels/profiler/statistics.h"
#include "kernels/profiler/tables.h"
#include "sim/cli/console.h"

namespace headway::kernels {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string printed(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string text_of(const Variant& variant, const char* between) {
  std::string text;
  for (const auto& [key, value] : variant) {
    if (key == "impl") continue;
    text += (text.empty() ? "" : between) + key + "=" + value;
  }
  return text;
}

std::vector<std::string> table_row(const ProfileTable& table, const ProfileOutcome& outcome) {
  Variant variant = table.variant;
  const std::string impl = variant["impl"];
  variant.erase("impl");
  std::vector<double> widths;
  double flops = 0, bytes = 0;
  for (const MeasuredRow& row : outcome.rows) {
    if (row.op != table.op || row.impl != impl || row.variant != variant || row.probe) continue;
    widths.push_back(100 * row.time.relative_width());
    flops = std::max(flops, row.flops_per_s);
    bytes = std::max(bytes, row.bytes_per_s);
  }
  const auto noisy = std::count_if(table.flags.begin(), table.flags.end(),
                                   [](std::uint8_t f) { return (f & kRowNoisy) != 0; });
  return {table.op,
          impl,
          text_of(variant, " "),
          std::to_string(table.rows()),
          std::to_string(noisy),
          widths.empty() ? "-" : printed("%.1f", median(widths)),
          printed("%.4g", bytes / 1e9),
          printed("%.4g", flops / 1e9),
          table.holdout ? printed("%.1f", 100 * table.holdout->err_median) : "-",
          table.holdout ? printed("%.1f", 100 * table.holdout->err_p90) : "-"};
}

}  // namespace

std::string list_text(const std::vector<KernelEntry>& entries, const std::vector<Point>& points) {
  Rows rows{{"op", "kernel", "impl", "variant", "points", "probes"}};
  std::size_t all = 0;
  for (const KernelEntry& entry : entries) {
    std::size_t count = 0, probes = 0;
    for (const Point& point : points) {
      if (point.entry == &entry) ++(point.probe ? probes : count);
    }
    all += count + probes;
    rows.push_back({entry.op, entry.name, entry.impl, text_of(entry.variant, " "),
                    std::to_string(count), std::to_string(probes)});
  }
  return aligned(rows) + std::to_string(all) + " points\n";
}

std::string table_text(const ProfileOutcome& outcome) {
  const Profile& p = outcome.profile;
  Rows rows{{"op", "impl", "variant", "points", "noisy", "interval_pct", "max_gb_per_s",
             "max_gflop_per_s", "probe_err_pct", "probe_p90_pct"}};
  for (const ProfileTable& table : p.tables) rows.push_back(table_row(table, outcome));
  std::string text = aligned(rows);
  if (!p.closure.empty()) {
    Rows wholes{{"closure", "measured_us", "sum_us", "measured/sum"}};
    for (const Closure& c : p.closure) {
      wholes.push_back({c.what, printed("%.1f", c.measured_us), printed("%.1f", c.sum_us),
                        printed("%.3f", c.measured_us / c.sum_us)});
    }
    text += "\n" + aligned(wholes);
  }
  Rows overheads{{"overhead", "value"}};
  for (const auto& [name, value] : p.overheads) overheads.push_back({name, printed("%.4g", value)});
  overheads.push_back({"run_sigma", printed("%.4f", p.run_sigma)});
  return text + "\n" + aligned(overheads);
}

std::string rows_csv(const ProfileOutcome& outcome) {
  std::string text =
      "op,impl,variant,key,probe,time_us,low_us,high_us,samples,visits,clock_mhz,gb_per_s,"
      "gflop_per_s\n";
  for (const MeasuredRow& row : outcome.rows) {
    std::string key;
    for (const std::int64_t value : row.key) {
      key += (key.empty() ? "" : " ") + std::to_string(value);
    }
    text += row.op + "," + row.impl + "," + text_of(row.variant, " ") + "," + key + "," +
            (row.ragged ? "ragged" : row.probe ? "probe" : "") + "," +
            printed("%.5g", row.time.us) + "," + printed("%.5g", row.time.low_us) + "," +
            printed("%.5g", row.time.high_us) + "," + std::to_string(row.samples) + "," +
            std::to_string(row.visits) + "," + printed("%.0f", row.clock_mhz) + "," +
            printed("%.5g", row.bytes_per_s / 1e9) + "," + printed("%.5g", row.flops_per_s / 1e9) +
            "\n";
  }
  return text;
}

std::string rows_json(const ProfileOutcome& outcome) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const MeasuredRow& row : outcome.rows) {
    Json one = {{"op", row.op}, {"impl", row.impl}, {"variant", row.variant}};
    const std::vector<std::string> axes = profile_axes(row.op);
    for (std::size_t a = 0; a < axes.size() && a < row.key.size(); ++a) one[axes[a]] = row.key[a];
    one.update({{"probe", row.probe}, {"ragged", row.ragged}, {"time_us", row.time.us},
                {"low_us", row.time.low_us}, {"high_us", row.time.high_us},
                {"samples", row.samples}, {"visits", row.visits}, {"clock_mhz", row.clock_mhz},
                {"bytes_per_s", row.bytes_per_s}, {"flops_per_s", row.flops_per_s}});
    list.push_back(std::move(one));
  }
  const Profile& p = outcome.profile;
  Json closure = Json::array();
  for (const Closure& c : p.closure) {
    closure.push_back({{"what", c.what}, {"measured_us", c.measured_us}, {"sum_us", c.sum_us}});
  }
  const Json all = {{"name", p.name},
                    {"incomplete", p.incomplete},
                    {"run_sigma", p.run_sigma},
                    {"overheads", p.overheads},
                    {"closure", closure},
                    {"provenance", Json::parse(p.provenance_json)},
                    {"session", Json::parse(p.session_json)},
                    {"points", list}};
  return all.dump(1) + "\n";
}

}  // namespace headway::kernels
