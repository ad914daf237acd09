#pragma once

#include "sim/workload/trace_format.h"

namespace headway {

// One row a leaf file; trace_format.cpp lists them.
TraceFormat plain_csv_format();
TraceFormat azure_csv_format();
TraceFormat burstgpt_csv_format();
TraceFormat mooncake_jsonl_format();
TraceFormat llmservingsim_jsonl_format();
TraceFormat vidur_csv_format();
TraceFormat lengths_csv_format();
TraceFormat vllm_bench_json_format();

}  // namespace headway
