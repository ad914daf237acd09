#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/trace_format.h"

namespace headway {

struct CsvColumn {
  std::string_view name;
  TraceField field;
  bool required;
};

// A CSV log with a header line, its columns in any order. Fields may be quoted ("a, b"), not broken
// over lines. Columns that the table lacks are passed over and named in a note.
std::unique_ptr<TraceReader> open_csv(TraceText text, std::span<const CsvColumn> columns,
                                      const TraceReadOptions& options,
                                      std::vector<std::string>& notes);

// Whether the first line of `head` is a header with a required column. One is enough to tell the
// format (no two formats share one); what else is missing is then said by name.
bool has_csv_header(std::string_view head, std::span<const CsvColumn> columns);

}  // namespace headway
