#include "sim/core/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/core/errors.h"
#include "sim/core/zlib_or_plain.h"

namespace headway {
namespace {

// Where a name leads: a link is followed, so that its target is replaced and not the link.
std::string follow_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

// A terminal, a pipe, /dev/full: written in place; renaming over it would destroy it.
bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

struct OutputFile::Impl {
  std::string path, target, temporary;  // as given; where it leads; "" = written in place
  std::FILE* file = nullptr;
  gzFile zipped = nullptr;
  bool done = false;

  [[noreturn]] void fail(int error) const {
    throw InputError({path == "-" ? "standard output" : path, "",
                      std::string("an output that cannot be written (") + std::strerror(error) + ")",
                      "a writable place with room for it"});
  }
};

OutputFile::OutputFile(const std::string& path) : impl_(new Impl) {
  impl_->path = path;
  if (path == "-") {
    impl_->file = stdout;
    return;
  }
  impl_->target = follow_links(path);
  if (!is_special(path)) impl_->temporary = impl_->target + ".tmp" + std::to_string(::getpid());
  const std::string& opened = impl_->temporary.empty() ? path : impl_->temporary;
  impl_->file = std::fopen(opened.c_str(), "wb");
  int error = errno;
  if (impl_->file != nullptr && path.ends_with(".gz")) {
    impl_->zipped = gzdopen(::dup(fileno(impl_->file)), "wb9");
    error = errno;
  }
  if (impl_->file == nullptr || (path.ends_with(".gz") && impl_->zipped == nullptr)) {
    const Impl copy = *impl_;
    delete impl_;
    copy.fail(error);
  }
}

OutputFile::~OutputFile() {
  if (impl_->zipped != nullptr) gzclose(impl_->zipped);
  if (impl_->file != nullptr && impl_->path != "-") std::fclose(impl_->file);
  if (!impl_->done && !impl_->temporary.empty()) ::unlink(impl_->temporary.c_str());
  delete impl_;
}

void OutputFile::write(std::string_view text) {
  if (text.empty()) return;
  errno = 0;
  const bool ok =
      impl_->zipped != nullptr
          ? gzwrite(impl_->zipped, text.data(), static_cast<unsigned>(text.size())) > 0
          : std::fwrite(text.data(), 1, text.size(), impl_->file) == text.size();
  if (!ok) impl_->fail(errno);
}

void OutputFile::commit() {
  errno = 0;
  bool ok = true;
  if (impl_->zipped != nullptr) {
    ok = gzclose(impl_->zipped) == Z_OK;
    impl_->zipped = nullptr;
  }
  ok = ok && std::fflush(impl_->file) == 0 && std::ferror(impl_->file) == 0;
  if (!ok) impl_->fail(errno);
  if (impl_->path == "-") return;
  const int closed = std::fclose(impl_->file);
  impl_->file = nullptr;
  if (closed != 0) impl_->fail(errno);
  if (!impl_->temporary.empty() &&
      std::rename(impl_->temporary.c_str(), impl_->target.c_str()) != 0) {
    impl_->fail(errno);
  }
  impl_->done = true;
}

}  // namespace headway
