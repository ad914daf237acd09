#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/input_file.h"

namespace headway {

// The lines of a trace file, the first of them looked at before they are read, so that the format
// can be told by the content even of a pipe.
class TraceText {
 public:
  explicit TraceText(const std::string& path);

  // The file's beginning: its first lines that are not blank ("" = an empty file).
  const std::string& head() const { return head_; }

  // The next line, blank ones passed over. The view holds until the next call.
  bool next(std::string_view& line);
  std::int64_t line_number() const { return line_number_; }
  const std::string& path() const { return lines_->path(); }

 private:
  std::unique_ptr<LineReader> lines_;
  std::string head_;
  std::vector<std::pair<std::int64_t, std::string>> peeked_;
  std::size_t next_peeked_ = 0;
  std::int64_t line_number_ = 0;
};

}  // namespace headway
