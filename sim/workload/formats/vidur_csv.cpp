#include "sim/workload/csv_reader.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

// microsoft/vidur, data/processed_traces.
constexpr CsvColumn kColumns[] = {
    {"arrived_at", TraceField::kArrivalS, true},
    {"num_prefill_tokens", TraceField::kInputTokens, true},
    {"num_decode_tokens", TraceField::kOutputTokens, true},
};

bool recognises(std::string_view head) { return has_csv_header(head, kColumns); }

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& options,
                                  std::vector<std::string>& notes) {
  return open_csv(std::move(text), kColumns, options, notes);
}

}  // namespace

TraceFormat vidur_csv_format() {
  return {
      "vidur", "Vidur request traces: arrived_at (seconds), num_prefill_tokens, num_decode_tokens",
      "a CSV header with arrived_at, num_prefill_tokens and num_decode_tokens", recognises, open};
}

}  // namespace headway
