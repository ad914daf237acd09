#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/metrics/run_summary.h"

namespace headway {

// One variant of a comparison.
struct CompareRow {
  std::string label;             // "static", or "engine.scheduler=static, seed=2"
  std::vector<RunSummary> runs;  // one a replicate, at least one; cells are their mean
  std::string explanation;       // one line: what its rule costs or buys; "" = none
};

// Rows = variants, columns = the main metrics, the best of each column marked (ties all). Goodput
// and SLO columns only where a row has limits. A row that finished nothing has no latencies ("-")
// and is never best. With replicates, cells show mean and standard deviation (ddof 1).
std::string compare_text(const std::vector<CompareRow>& rows, const std::string& title,
                         bool colour);
std::string compare_markdown(const std::vector<CompareRow>& rows, const std::string& title);
nlohmann::ordered_json compare_json(const std::vector<CompareRow>& rows, const std::string& title);

}  // namespace headway
