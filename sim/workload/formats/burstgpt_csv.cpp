#include "sim/workload/csv_reader.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

// HPMLL/BurstGPT. A row whose response has no tokens is a request that failed there.
constexpr CsvColumn kColumns[] = {
    {"Timestamp", TraceField::kArrivalS, true},
    {"Request tokens", TraceField::kInputTokens, true},
    {"Response tokens", TraceField::kOutputTokens, true},
    {"Model", TraceField::kIgnored, false},
    {"Total tokens", TraceField::kIgnored, false},
    {"Log Type", TraceField::kIgnored, false},
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
