#include "sim/workload/csv_reader.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

// Our own form, which the requests file of a run also has: a run can be replayed from its output.
constexpr CsvColumn kColumns[] = {
    {"arrival_s", Field::kArrivalS, true},
    {"input_tokens", Field::kInputTokens, true},
    {"output_tokens", Field::kOutputTokens, true},
    {"session_id", Field::kSessionId, false},
    {"priority", Field::kPriority, false},
    {"prefix_group", Field::kPrefixGroup, false},
    {"prefix_tokens", Field::kPrefixTokens, false},
    {"request_id", Field::kIgnored, false},
    {"tenant", Field::kTenant, false},
    {"think_time_s", Field::kThinkTimeS, false},
    {"max_tokens", Field::kMaxTokens, false},
    {"acceptance_rate", Field::kAcceptanceRate, false},
    {"hash_ids", Field::kHashIds, false},
    {"block_ids16", Field::kBlockIds16, false},
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
