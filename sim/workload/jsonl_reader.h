#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/workload/trace_format.h"

namespace headway {

struct JsonKey {
  std::string_view name;
  TraceField field;
  bool required;
};

// A log with one JSON object a line. Keys that the table lacks are passed over. A row without an
// arrival is one turn of a session: it takes the arrival of the row before it as a lower bound.
std::unique_ptr<TraceReader> open_jsonl(TraceText text, std::span<const JsonKey> keys,
                                        const TraceReadOptions& options);

// Whether `head` begins with an object whose first line names a required key (see has_csv_header).
bool has_json_keys(std::string_view head, std::span<const JsonKey> keys);

}  // namespace headway
