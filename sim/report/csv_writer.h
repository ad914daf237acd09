#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/output_file.h"

namespace headway {

// A text as a cell, quoted when it must be (RFC 4180).
std::string csv_cell(std::string_view value);

// Rows of comma-separated cells into an OutputFile, buffered. Times are written from whole
// nanoseconds, so nothing is rounded.
class CsvWriter {
 public:
  CsvWriter(const std::string& path, std::string_view header);

  void integer(std::int64_t value);
  // `ns` in units of 10^digits ns, with all its digits: decimal(1500000, 9) is 0.001500000.
  void decimal(std::int64_t ns, int digits);
  void number(double value, int digits);
  void text(std::string_view value);  // as csv_cell has it
  void empty();
  void end_row();
  void commit();

 private:
  void separate() {
    if (!row_start_) buffer_ += ',';
    row_start_ = false;
  }

  OutputFile file_;
  std::string buffer_;
  bool row_start_ = true;
};

}  // namespace headway
