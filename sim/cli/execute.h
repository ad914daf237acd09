#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/metrics/latency_curves.h"
#include "sim/metrics/observer.h"
#include "sim/metrics/run_summary.h"
#include "sim/report/run_info.h"
#include "sim/scenario/scenario.h"

namespace headway {

// A simulated scenario with everything that reports say of it.
struct Execution {
  RunSummary summary;
  RunInfo info;
  RunOutcome outcome;
  std::map<std::string, std::int64_t> failures;  // reason -> requests
  LatencyCurves curves;                          // where they were asked for
};

// Runs the scenario; `extra` observers listen too. A progress line on stderr when asked for. A
// `profile` stands in for the one that the scenario names. Latency curves take a moment more.
Execution execute(const Scenario& scenario, std::span<Observer* const> extra, bool show_progress,
                  const RunOptions& options = {}, const Profile* profile = nullptr,
                  bool with_curves = false);

// What the user should know beside the numbers: rows skipped, requests refused. One a line.
std::string notes_text(const Execution& execution);

// Whether to draw progress: stderr is a terminal and nobody asked for quiet.
bool wants_progress(bool quiet);

}  // namespace headway
