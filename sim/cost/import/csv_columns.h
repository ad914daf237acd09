#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/input_file.h"

namespace headway {

// A published CSV (gzip or plain) read by column name, in any column order. InputError names file
// and line: a missing column, a row of another width, a cell that is no number.
class CsvColumns {
 public:
  explicit CsvColumns(const std::string& path);

  // The index of a column; InputError when the file has none of that name, or -1 if `optional`.
  int column(const std::string& name) const;
  int optional_column(const std::string& name) const;

  bool next();  // to the next row; false at the end
  std::string_view text(int column) const { return cells_[static_cast<std::size_t>(column)]; }
  std::int64_t whole(int column) const;   // "512" or "512.0"
  double number(int column) const;        // finite
  // A time in microseconds from a cell in units of `unit_us`; finite and above 0.
  double time_us(int column, double unit_us) const;
  const std::string& path() const { return lines_.path(); }
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;

 private:
  void split(std::string_view line);

  LineReader lines_;
  std::string row_;
  std::vector<std::string> names_;
  std::vector<std::string_view> cells_;
};

}  // namespace headway
