#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "sim/metrics/run_history.h"

namespace headway {

// The narrowest width in which each of the runs fits into `columns`: all their widths are the same
// times powers of two, so that curves of several runs share their times.
std::int64_t common_width_ns(std::span<const RunHistory* const> runs, std::size_t columns);

// A run over time as the page draws it: {width_s, columns, each of in_system, in_system_min,
// in_system_max, running, waiting, kv, kv_peak, busy as a list with a value a column; then counts in
// wider columns: count_width_s, arrivals_per_s, finishes_per_s, output_tokens_per_s,
// prefill_tokens_per_s, preemptions}. Nothing ran in a column: null.
nlohmann::ordered_json history_data(const RunHistory& history, std::int64_t width_ns);

}  // namespace headway
