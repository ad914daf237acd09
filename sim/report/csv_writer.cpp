#include "sim/report/csv_writer.h"

#include <charconv>
#include <cstddef>

namespace headway {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

}  // namespace

std::string csv_cell(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(value);
  std::string cell = "\"";
  for (const char c : value) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

CsvWriter::CsvWriter(const std::string& path, std::string_view header) : file_(path) {
  buffer_.reserve(kFlushBytes + 1024);
  buffer_ += header;
  buffer_ += '\n';
}

void CsvWriter::integer(std::int64_t value) {
  separate();
  char text[24];
  buffer_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void CsvWriter::decimal(std::int64_t ns, int digits) {
  separate();
  if (ns < 0) buffer_ += '-';
  const std::uint64_t size =
      ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::uint64_t scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  char text[24];
  buffer_.append(text, std::to_chars(text, text + sizeof text, size / scale).ptr);
  buffer_ += '.';
  std::uint64_t rest = size % scale;
  for (int i = digits - 1; i >= 0; --i) {
    text[i] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  buffer_.append(text, static_cast<std::size_t>(digits));
}

void CsvWriter::number(double value, int digits) {
  separate();
  char text[352];  // the longest double in fixed notation has 309 digits before the point
  buffer_.append(
      text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr);
}

void CsvWriter::text(std::string_view value) {
  separate();
  buffer_ += csv_cell(value);
}

void CsvWriter::empty() { separate(); }

void CsvWriter::end_row() {
  buffer_ += '\n';
  row_start_ = true;
  if (buffer_.size() < kFlushBytes) return;
  file_.write(buffer_);
  buffer_.clear();
}

void CsvWriter::commit() {
  file_.write(buffer_);
  buffer_.clear();
  file_.commit();
}

}  // namespace headway
