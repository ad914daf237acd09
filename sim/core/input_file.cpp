#include "sim/core/input_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/zlib_or_plain.h"

namespace headway {

// zlib's gzread passes plain files through unchanged, so one path serves both.
struct LineReader::Impl {
  std::string path;
  gzFile file = nullptr;
  std::vector<char> buffer = std::vector<char>(1 << 18);
  std::size_t begin = 0, end = 0;
  std::string spill;  // a line that crosses buffers
  std::int64_t line = 0;
  bool at_end = false;

  bool refill() {
    if (at_end) return false;
    const int n = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()));
    int code = Z_OK;
    const char* text = gzerror(file, &code);
    if (n < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      const bool cut = code == Z_BUF_ERROR;
      throw InputError({path, "after line " + std::to_string(line),
                        cut ? "a gzip file that ends too early" : std::string("damaged gzip data (") +
                              (code == Z_ERRNO ? std::strerror(errno) : text) + ")",
                        "a whole file"});
    }
    begin = 0;
    end = static_cast<std::size_t>(n);
    at_end = n == 0;
    return n > 0;
  }
};

LineReader::LineReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  if (path == "-") {
    impl_->path = "standard input";
    impl_->file = gzdopen(0, "rb");
  } else {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) {
      throw InputError({path, "", std::string("no readable file (") + std::strerror(errno) + ")",
                        "an existing file"});
    }
    if (S_ISDIR(info.st_mode)) throw InputError({path, "", "a folder", "a file"});
    impl_->file = gzopen(path.c_str(), "rb");
  }
  if (impl_->file == nullptr) {
    throw InputError({path, "", std::string("a file that cannot be opened (") +
                      std::strerror(errno) + ")", "a readable file"});
  }
  gzbuffer(impl_->file, 1 << 18);
}

LineReader::~LineReader() {
  if (impl_->file != nullptr) gzclose(impl_->file);
}

bool LineReader::next(std::string_view& line) {
  Impl& s = *impl_;
  s.spill.clear();
  bool any = false;
  for (;;) {
    if (s.begin == s.end && !s.refill()) break;
    any = true;
    const char* start = s.buffer.data() + s.begin;
    const auto* stop = static_cast<const char*>(std::memchr(start, '\n', s.end - s.begin));
    const std::size_t n = stop != nullptr ? static_cast<std::size_t>(stop - start) : s.end - s.begin;
    s.begin += n + (stop != nullptr ? 1 : 0);
    if (stop != nullptr && s.spill.empty()) {
      line = std::string_view(start, n);
    } else {
      s.spill.append(start, n);
      line = s.spill;
    }
    if (stop != nullptr) break;
  }
  if (!any) return false;
  if (++s.line == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return true;
}

std::int64_t LineReader::line_number() const { return impl_->line; }
const std::string& LineReader::path() const { return impl_->path; }

std::string read_whole_file(const std::string& path) {
  LineReader reader(path);
  std::string text;
  std::string_view line;
  while (reader.next(line)) {
    text.append(line);
    text.push_back('\n');
  }
  return text;
}

}  // namespace headway
