#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/metrics/run_summary.h"

namespace headway {

// A limit on a statistic of a run: "ttft:p99:2000" is a p99 TTFT of at most 2000 ms. Met when equal.
struct SloTarget {
  enum class Metric : std::uint8_t { kTtft, kTpot, kItl, kE2el };
  enum class Statistic : std::uint8_t { kMean, kP50, kP90, kP95, kP99 };
  Metric metric = Metric::kTtft;
  Statistic statistic = Statistic::kP99;
  double limit_ms = 0;
};

// InputError at the command line's --slo: not METRIC:STATISTIC:MILLISECONDS, a metric or statistic
// that is none (the nearest is named), a limit that is no finite number above 0.
SloTarget parse_slo_target(const std::string& text);
std::string describe(const SloTarget& target);  // "p99 TTFT <= 2000 ms"
std::string describe_value(const SloTarget& target, const RunSummary& run);  // "p99 TTFT 2140 ms"
double value_of(const SloTarget& target, const RunSummary& run);

// What a run must do to count as good.
struct Requirements {
  std::vector<SloTarget> targets;
  double attainment = 0;  // share of requests within the scenario's own limits; 0 = not asked
  bool any() const { return !targets.empty() || attainment > 0; }
};

// Requests in the system also grow in number while a run fills up. Only where they queue for more
// than this share of their time is growth a backlog.
inline constexpr double kBacklogQueueing = 0.05;

// Why the run is not good, the first reason; "" = it is. Besides the targets: every request must be
// served, and no backlog may grow as long as requests come (a queue that grows for ever meets any
// limit in a run that is short enough).
std::string first_miss(const Requirements& requirements, const RunSummary& run);

}  // namespace headway
