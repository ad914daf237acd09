#include "sim/workload/formats/formats.h"
#include "sim/workload/jsonl_reader.h"

namespace headway {
namespace {

// casys-kaist/LLMServingSim. Token ids where the log has them; block_ids16 names
// whole blocks of 16.
constexpr JsonKey kKeys[] = {
    {"arrival_time_ns", TraceField::kArrivalNs, true},
    {"input_toks", TraceField::kInputTokens, true},
    {"output_toks", TraceField::kOutputTokens, true},
    {"block_ids16", TraceField::kBlockIds16, false},
    {"input_tok_ids", TraceField::kTokenIds, false},
    {"output_tok_ids", TraceField::kOutputIds, false},
};

bool recognises(std::string_view head) { return has_json_keys(head, kKeys); }

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& options,
                                  std::vector<std::string>& /*notes*/) {
  return open_jsonl(std::move(text), kKeys, options);
}

}  // namespace

TraceFormat llmservingsim_jsonl_format() {
  return {"llmservingsim",
          "LLMServingSim JSONL: arrival_time_ns, input_toks, output_toks, token or block ids",
          "JSON lines with arrival_time_ns, input_toks and output_toks", recognises, open};
}

}  // namespace headway
