#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/metrics/run_summary.h"
#include "sim/report/run_info.h"

namespace headway {

// The layout number of the "headway" object; raised when a key changes its meaning.
inline constexpr int kResultSchemaVersion = 1;

// The keys of `vllm bench serve --save-result`, in its order, then ours under "headway". With
// `detail` (RunMetrics::requests() of a run that kept them) also --save-detailed's lists by request
// id: input_lens, output_lens, ttfts, start_times, errors (seconds); a failed request has 0 output
// tokens, TTFT 0 and its reason. Gaps are pooled, so there is no itls.
nlohmann::ordered_json result_json(const RunSummary& summary, const RunInfo& info,
                                   const std::vector<RequestRecord>* detail = nullptr);

// The JSON, indented, as the file at `path` ("-" = stdout), whole or not at all.
void save_result(const std::string& path, const nlohmann::ordered_json& result);

}  // namespace headway
