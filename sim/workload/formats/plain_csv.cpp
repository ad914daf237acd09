#include "sim/workload/csv_reader.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

// Our own form, which the requests file of a run also has: a run can be replayed from its output.
constexpr CsvColumn kColumns[] = {
    {"arrival_s", TraceField::kArrivalS, true},
    {"input_tokens", TraceField::kInputTokens, true},
    {"output_tokens", TraceField::kOutputTokens, true},
    {"session_id", TraceField::kSessionId, false},
    {"priority", TraceField::kPriority, false},
    {"prefix_group", TraceField::kPrefixGroup, false},
    {"prefix_tokens", TraceField::kPrefixTokens, false},
    {"request_id", TraceField::kIgnored, false},
    {"tenant", TraceField::kTenant, false},
    {"think_time_s", TraceField::kThinkTimeS, false},
    {"max_tokens", TraceField::kMaxTokens, false},
    {"acceptance_rate", TraceField::kAcceptanceRate, false},
    {"samples", TraceField::kSamples, false},
    {"beam_width", TraceField::kBeamWidth, false},
    {"hash_ids", TraceField::kHashIds, false},
    {"block_ids16", TraceField::kBlockIds16, false},
};

bool recognises(std::string_view head) { return has_csv_header(head, kColumns); }

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& options,
                                  std::vector<std::string>& notes) {
  return open_csv(std::move(text), kColumns, options, notes);
}

}  // namespace

TraceFormat plain_csv_format() {
  return {"csv", "our own: arrival_s, input_tokens, output_tokens and optional columns",
          "a CSV header with arrival_s, input_tokens and output_tokens", recognises, open};
}

}  // namespace headway
