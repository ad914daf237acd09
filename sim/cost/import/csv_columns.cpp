#include "sim/cost/import/csv_columns.h"

#include <charconv>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {

CsvColumns::CsvColumns(const std::string& path) : lines_(path) {
  std::string_view line;
  if (!lines_.next(line)) fail("an empty file", "a header");
  split(line);
  names_.assign(cells_.begin(), cells_.end());
}

void CsvColumns::fail(const std::string& found, const std::string& expected) const {
  throw InputError(
      {lines_.path(), "line " + std::to_string(lines_.line_number()), found, expected});
}

void CsvColumns::split(std::string_view line) {
  row_.assign(line);
  cells_.clear();
  std::string_view rest = row_;
  for (;;) {
    const std::size_t comma = rest.find(',');
    cells_.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

int CsvColumns::optional_column(const std::string& name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return static_cast<int>(i);
  }
  return -1;
}

int CsvColumns::column(const std::string& name) const {
  const int found = optional_column(name);
  if (found >= 0) return found;
  const std::string close = nearest(name, names_);
  const std::string hint = close.empty() ? "" : " (but \"" + close + "\")";
  throw InputError({lines_.path(), "line 1", "no column \"" + name + "\"" + hint, "that column"});
}

bool CsvColumns::next() {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (line.empty());
  split(line);
  if (cells_.size() != names_.size()) {
    fail(std::to_string(cells_.size()) + " columns", std::to_string(names_.size()) + " columns");
  }
  return true;
}

double CsvColumns::number(int column) const {
  const std::string_view cell = text(column);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) {
    fail("the " + names_[static_cast<std::size_t>(column)] + " \"" + std::string(cell) + "\"",
         "a finite number");
  }
  return value;
}

std::int64_t CsvColumns::whole(int column) const {
  const double value = number(column);
  if (value < 0 || value > 9e15 || value != std::floor(value)) {
    fail("the " + names_[static_cast<std::size_t>(column)] + " " + std::string(text(column)),
         "a whole number from 0 up");
  }
  return static_cast<std::int64_t>(value);
}

double CsvColumns::time_us(int column, double unit_us) const {
  const double value = number(column) * unit_us;
  if (value <= 0) {
    fail("the time " + std::string(text(column)), "a time above 0");
  }
  return value;
}

}  // namespace headway
