#include "sim/workload/csv_reader.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

// HPMLL/BurstGPT. A row whose response has no tokens is a request that failed there.
constexpr CsvColumn kColumns[] = {
    {"Timestamp", Field::kArrivalS, true},
    {"Request tokens", Field::kInputTokens, true},
    {"Response tokens", Field::kOutputTokens, true},
    {"Model", Field::kIgnored, false},
    {"Total tokens", Field::kIgnored, false},
    {"Log Type", Field::kIgnored, false},
};

bool recognises(std::string_view head) { return has_csv_header(head, kColumns); }

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& options,
                                  std::vector<std::string>& notes) {
  return open_csv(std::move(text), kColumns, options, notes);
}

}  // namespace

TraceFormat burstgpt_csv_format() {
  return {"burstgpt", "BurstGPT: Timestamp (seconds), Request tokens, Response tokens (0 = failed)",
          "a CSV header with Timestamp, Request tokens and Response tokens", recognises, open};
}

}  // namespace headway
