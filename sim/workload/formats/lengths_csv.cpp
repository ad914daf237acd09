#include "sim/workload/csv_reader.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

// Only lengths: every row arrives at 0, for closed loops and as a table of empirical lengths.
constexpr CsvColumn kColumns[] = {
    {"input_length", TraceField::kInputTokens, true},
    {"output_length", TraceField::kOutputTokens, true},
};

bool recognises(std::string_view head) { return has_csv_header(head, kColumns); }

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& options,
                                  std::vector<std::string>& notes) {
  return open_csv(std::move(text), kColumns, options, notes);
}

}  // namespace

TraceFormat lengths_csv_format() {
  return {"lengths", "lengths without times, all at once: input_length, output_length",
          "a CSV header with input_length and output_length", recognises, open};
}

}  // namespace headway
