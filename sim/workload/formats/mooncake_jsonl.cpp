#include "sim/workload/formats/formats.h"
#include "sim/workload/jsonl_reader.h"

namespace headway {
namespace {

// kvcache-ai/Mooncake. An id in hash_ids names one block of the prompt and, by construction, all
// before it; the last block may be short. session_id and delay (ms) are the multi-turn
// extension of AIPerf; the keys from block_ids16 on are ours, so that nothing is lost on writing.
constexpr JsonKey kKeys[] = {
    {"timestamp", Field::kArrivalMs, false},  // a later turn may have only a delay
    {"input_length", Field::kInputTokens, true},
    {"output_length", Field::kOutputTokens, true},
    {"hash_ids", Field::kHashIds, false},
    {"session_id", Field::kSessionId, false},
    {"delay", Field::kThinkTimeMs, false},
    {"block_ids16", Field::kBlockIds16, false},
    {"priority", Field::kPriority, false},
    {"tenant", Field::kTenant, false},
    {"max_tokens", Field::kMaxTokens, false},
    {"acceptance_rate", Field::kAcceptanceRate, false},
    {"prefix_group", Field::kPrefixGroup, false},
    {"prefix_tokens", Field::kPrefixTokens, false},
};

bool recognises(std::string_view head) { return has_json_keys(head, kKeys); }

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& options,
                                  std::vector<std::string>& /*notes*/) {
  return open_jsonl(std::move(text), kKeys, options);
}

}  // namespace

TraceFormat mooncake_jsonl_format() {
  return {"mooncake",
          "Mooncake JSONL: timestamp (ms), input_length, output_length, hash_ids (of 512 tokens)",
          "JSON lines with input_length and output_length", recognises, open};
}

}  // namespace headway
