#pragma once

#include <string>

#include "sim/metrics/run_summary.h"

namespace headway {

// One sentence, computed from the run, on what its policy cost or bought: where most of the mean
// latency went, with the numbers that show why.
std::string explain_run(const RunSummary& run);

}  // namespace headway
