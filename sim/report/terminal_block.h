#pragma once

#include <string>

#include "sim/metrics/run_summary.h"
#include "sim/report/run_info.h"

namespace headway {

// The block that `vllm bench serve` prints: its labels, its order, its 50 columns.
std::string serving_block(const RunSummary& summary, const RunInfo& info);

// What only a simulator can say, in the same columns: where the mean latency went, what the engine
// did, what its GPU time was made of and how much of it was measured, SLOs, and the verdict line.
std::string headway_block(const RunSummary& summary, const RunInfo& info);

// One sentence or two: stable, backlogged or overloaded, the backlog's slope, a preemption storm.
std::string verdict_line(const RunSummary& summary);

}  // namespace headway
