#include "sim/workload/csv_reader.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

// Azure/AzurePublicDataset. 2023: seven digits of a second, no zone. 2024: six
// digits or none, with a zone.
constexpr CsvColumn kColumns[] = {
    {"TIMESTAMP", TraceField::kTimestamp, true},
    {"ContextTokens", TraceField::kInputTokens, true},
    {"GeneratedTokens", TraceField::kOutputTokens, true},
};

bool recognises(std::string_view head) { return has_csv_header(head, kColumns); }

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& options,
                                  std::vector<std::string>& notes) {
  return open_csv(std::move(text), kColumns, options, notes);
}

}  // namespace

TraceFormat azure_csv_format() {
  return {"azure",
          "Azure LLM inference traces 2023 and 2024: TIMESTAMP, ContextTokens, GeneratedTokens",
          "a CSV header with TIMESTAMP, ContextTokens and GeneratedTokens", recognises, open};
}

}  // namespace headway
