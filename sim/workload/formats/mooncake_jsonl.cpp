#include "sim/workload/formats/formats.h"
#include "sim/workload/jsonl_reader.h"

namespace headway {
namespace {

// kvcache-ai/Mooncake. An id in hash_ids names one block of the prompt and, by construction, all
// before it; the last block may be short. session_id and delay (ms) are the multi-turn
// extension of AIPerf; the keys from block_ids16 on are ours, so that nothing is lost on writing.
constexpr JsonKey kKeys[] = {
    {"timestamp", TraceField::kArrivalMs, false},  // a later turn may have only a delay
    {"input_length", TraceField::kInputTokens, true},
    {"output_length", TraceField::kOutputTokens, true},
    {"hash_ids", TraceField::kHashIds, false},
    {"session_id", TraceField::kSessionId, false},
    {"delay", TraceField::kThinkTimeMs, false},
    {"block_ids16", TraceField::kBlockIds16, false},
    {"priority", TraceField::kPriority, false},
    {"tenant", TraceField::kTenant, false},
    {"max_tokens", TraceField::kMaxTokens, false},
    {"acceptance_rate", TraceField::kAcceptanceRate, false},
    {"samples", TraceField::kSamples, false},
    {"beam_width", TraceField::kBeamWidth, false},
    {"prefix_group", TraceField::kPrefixGroup, false},
    {"prefix_tokens", TraceField::kPrefixTokens, false},
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
