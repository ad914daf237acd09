#include "sim/report/html_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "sim/core/number_text.h"
#include "sim/report/compare_columns.h"
#include "sim/report/html_history.h"
#include "sim/report/names.h"
#include "sim/report/paired_table.h"
#include "sim/report/result_json.h"
#include "sim/report/terminal_block.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kReportSchemaVersion = 1;
constexpr const char* kMetricTags[kLatencyMetrics] = {"ttft", "tpot", "itl", "e2el"};

Json curves_data(const LatencyCurves& curves) {
  Json out = {{"shares", Json::array()}};
  for (const double share : curves.shares) out["shares"].push_back(short_number(share));
  for (std::size_t m = 0; m < kLatencyMetrics; ++m) {
    Json values = Json::array();
    for (const double ms : curves.values_ms[m]) values.push_back(short_number(ms));
    out[std::string(kMetricTags[m]) + "_ms"] = std::move(values);
  }
  return out;
}

Json groups_data(const LatencyGroups& groups) {
  Json out = Json::array();
  for (const LatencyGroup& group : groups.groups()) {
    Json parts = Json::object();
    for (std::size_t i = 0; i < kLatencyParts; ++i) {
      parts[std::string(kPartTags[i])] = short_number(group.mean_ms[i]);
    }
    out.push_back({{"from", group.from_share}, {"to", group.to_share},
                   {"requests", std::llround(group.requests)}, {"parts_ms", parts}});
  }
  return out;
}

// Keys of the scenario that differ from the first run's, with their values.
Json changes(const Json& first, const Json& other) {
  const Json a = first.flatten(), b = other.flatten();
  Json out = Json::object();
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key) || a[key] != value) out[key] = value;
  }
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key)) out[key] = nullptr;
  }
  return out;
}

// The summary as --save-result writes it, without what all runs share.
Json run_data(const ReportRun& run, std::int64_t width_ns, Json& scenario) {
  Json summary = result_json(*run.summary, *run.info);
  Json& ours = summary["headway"];
  Json own = ours["scenario"].is_null() ? Json::object() : ours["scenario"];
  ours.erase("scenario");
  Json out = {{"label", run.label},
              {"verdict", {{"load", load_name(run.summary->verdict.load)},
                           {"text", verdict_line(*run.summary)},
                           {"storm", run.summary->verdict.preemption_storm}}},
              {"explanation", run.explanation}};
  if (scenario.is_null()) {
    scenario = own;
  } else {
    out["changes"] = changes(scenario, own);
  }
  out["summary"] = std::move(summary);
  out["curves"] = curves_data(*run.curves);
  out["groups"] = groups_data(run.recorder->groups());
  out["history"] = history_data(run.recorder->history(), width_ns);
  return out;
}

// Those that the table has, with what the page writes above them.
Json columns_data(const Json& rows) {
  constexpr const char* kBetter[] = {"none", "low", "high"};
  Json out = Json::array();
  for (const CompareColumn& column : compare_columns()) {
    if (!rows.front()["metrics"].contains(std::string(column.tag))) continue;
    out.push_back({{"tag", column.tag},
                   {"head", column.head},
                   {"unit", column.unit},
                   {"better", kBetter[static_cast<std::size_t>(column.better)]}});
  }
  return out;
}

std::string thinned_curves(const ReportRun& run) {
  const std::size_t points = run.curves->shares.size();
  std::string text = fmt::format("{}distributions: {} points each",
                                 run.label.empty() ? "" : run.label + ": ", points);
  text += fmt::format(", of {} requests and {} gaps between tokens", grouped(run.summary->completed),
                      grouped(run.summary->itl_ms.count));
  if (!run.summary->exact_percentiles) return text + " (percentiles within 0.1 %)";
  return text + (run.summary->exact_itl ? "" : " (percentiles of ITL within 0.1 %)");
}

}  // namespace

Json short_number(double value) {
  if (!std::isfinite(value)) return {};
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

Json report_head(const char* kind, const ReportHead& head, std::span<const ReportRun> runs,
                 std::size_t columns) {
  Json out = {{"schema_version", kReportSchemaVersion},
              {"kind", kind},
              {"title", head.title},
              {"command", head.command},
              {"notes", head.notes},
              {"thinned", Json::array()},
              {"part_titles", kPartTitles},
              {"class_titles", kClassTitles},
              {"scenario", nullptr},
              {"runs", Json::array()}};
  std::vector<const RunHistory*> histories;
  for (const ReportRun& run : runs) histories.push_back(&run.recorder->history());
  const std::int64_t width_ns = common_width_ns(histories, columns);
  Json scenario;
  std::int64_t steps = 0;
  for (const ReportRun& run : runs) {
    out["runs"].push_back(run_data(run, width_ns, scenario));
    out["thinned"].push_back(thinned_curves(run));
    steps += run.summary->engine.steps;
  }
  out["scenario"] = std::move(scenario);
  if (!runs.empty()) {
    out["version"] = runs.front().info->version;
    out["date"] = runs.front().info->date ? Json(*runs.front().info->date) : Json();
    out["thinned"].push_back(fmt::format(
        "curves over time: columns of {}, from {} engine steps; means, with the least and the most "
        "of each column where a band is drawn",
        time_text(static_cast<double>(width_ns) / 1e9), grouped(steps)));
  }
  return out;
}

Json run_report(const ReportHead& head, const ReportRun& run, std::size_t columns) {
  return report_head("run", head, {&run, 1}, columns);
}

Json compare_report(const ReportHead& head, const ComparedRuns& compared, std::size_t columns) {
  Json out = report_head("compare", head, compared.runs, columns);
  out["compare"] = compare_json(compared.rows, head.title);
  out["compare"]["columns"] = columns_data(out["compare"]["rows"]);
  if (compared.rows.front().runs.size() > 1) {
    out["compare"]["paired"] = paired_json(compared.rows, compared.seed);
  }
  if (compared.rows.size() > compared.runs.size()) {
    out["thinned"].push_back(fmt::format("curves and bars: the first {} of {} variants",
                                         compared.runs.size(), compared.rows.size()));
  }
  out["pareto"] = pareto_data(compared.points);
  return out;
}

Json pareto_data(const std::vector<ParetoPoint>& points) {
  const std::vector<ParetoPoint> front = pareto_front(points);
  Json out = {{"points", Json::array()}, {"tried", points.size()}};
  for (const ParetoPoint& point : front) {
    out["points"].push_back({{"label", point.label},
                             {"gpus", point.trade.gpus},
                             {"tokens_per_s_per_user", short_number(point.trade.tokens_per_s_per_user)},
                             {"tokens_per_s_per_gpu", short_number(point.trade.tokens_per_s_per_gpu)},
                             {"good", point.good}});
  }
  return out;
}

ParetoPoint pareto_point(const std::string& label, std::int32_t gpus, const RunSummary& run,
                         bool good) {
  const double tpot_ms = run.tpot_ms.mean;
  return {label, {gpus, tpot_ms > 0 ? 1000 / tpot_ms : 0,
          gpus > 0 ? run.output_throughput / gpus : 0}, good};
}

}  // namespace headway
