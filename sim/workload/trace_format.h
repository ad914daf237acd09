#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/trace_fields.h"
#include "sim/workload/trace_text.h"

namespace headway {

// Reads a log row by row, in the file's order, on the log's own clock.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // False at the end. InputError: file, line, column, found, expected.
  virtual bool next(TraceRow& row) = 0;
  virtual FieldPlace place() const = 0;  // of the row last returned
};

struct TraceReadOptions {
  std::int32_t hash_block_size = 512;  // tokens that one id of `hash_ids` names
};

// A trace format: one file under formats/ and one row of the table in trace_format.cpp.
struct TraceFormat {
  const char* name;
  const char* help;                           // one line for `headway list formats`
  const char* recognised;                     // how "auto" tells it, for the message when none fits
  bool (*recognises)(std::string_view head);  // the file's beginning
  // `notes` receives what the user should know of the file's layout (columns not read).
  std::unique_ptr<TraceReader> (*open)(TraceText text, const TraceReadOptions& options,
                                       std::vector<std::string>& notes);
};

std::span<const TraceFormat> trace_formats();

// The format of that name, or with "auto" the one that recognises the file's beginning.
// InputError names the formats there are (`place` says where the name was given).
const TraceFormat& choose_trace_format(const std::string& name, const TraceText& text);

}  // namespace headway
