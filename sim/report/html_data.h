#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/metrics/latency_curves.h"
#include "sim/metrics/run_summary.h"
#include "sim/report/compare_table.h"
#include "sim/report/pareto.h"
#include "sim/report/run_info.h"
#include "sim/report/run_recorder.h"

namespace headway {

// The data of a report; docs/report.md and sim/report/page/src/data.ts describe its keys.

// Curves of more variants than this are not drawn; the table has them all.
inline constexpr std::size_t kMostCurves = 12;

// What every report says of itself.
struct ReportHead {
  std::string title;    // the scenario's name
  std::string command;  // as it was typed
  std::vector<std::string> notes;  // rows skipped, requests refused
};

// One run with its figures. The pointers are never null.
struct ReportRun {
  std::string label;        // of a variant; "" = the only one
  std::string explanation;  // one line; "" = none
  const RunSummary* summary;
  const RunInfo* info;
  const LatencyCurves* curves;
  const RunRecorder* recorder;
};

// `columns`: the most of a curve over time.
nlohmann::ordered_json run_report(const ReportHead& head, const ReportRun& run,
                                  std::size_t columns);

// `rows` is the whole table, `runs` the first replicates of its first kMostCurves variants. `seed`
// starts the resampling of paired differences.
struct ComparedRuns {
  const std::vector<CompareRow>& rows;
  std::span<const ReportRun> runs;
  std::vector<ParetoPoint> points;
  std::uint64_t seed = 1;
};
nlohmann::ordered_json compare_report(const ReportHead& head, const ComparedRuns& compared,
                                      std::size_t columns);

// What the others are made of; capacity reports (html_capacity.h) use them too.
nlohmann::ordered_json report_head(const char* kind, const ReportHead& head,
                                   std::span<const ReportRun> runs, std::size_t columns);
nlohmann::ordered_json pareto_data(const std::vector<ParetoPoint>& points);
// To five significant digits, as charts need it; null for what is no number.
nlohmann::ordered_json short_number(double value);

// Output tokens a second of a user and of a GPU.
ParetoPoint pareto_point(const std::string& label, std::int32_t gpus, const RunSummary& run,
                         bool good);

}  // namespace headway
