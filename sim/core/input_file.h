#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace headway {

// Reads a text file, gzip or plain (told by its first bytes), line by line in constant memory.
// "-" is stdin. InputError: missing, a folder, unreadable, truncated or damaged gzip.
class LineReader {
 public:
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its end (LF or CRLF; a leading BOM is dropped). False at the end.
  // The view holds until the next call.
  bool next(std::string_view& line);
  std::int64_t line_number() const;  // of the line last returned, from 1
  const std::string& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The whole file, unpacked.
std::string read_whole_file(const std::string& path);

}  // namespace headway
