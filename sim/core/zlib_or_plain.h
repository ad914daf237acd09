#pragma once

// zlib's file calls; with HEADWAY_WITHOUT_ZLIB, for bare machines that only profile, the few of them
// that we use over stdio: plain files as ever, and a compressed one cannot be opened.
#ifndef HEADWAY_WITHOUT_ZLIB
#include <zlib.h>
#else
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace headway {

using gzFile = std::FILE*;
inline constexpr int Z_OK = 0, Z_STREAM_END = 1, Z_ERRNO = -1, Z_BUF_ERROR = -5;

inline gzFile plain_only(std::FILE* file) {
  if (file == nullptr) return nullptr;
  const int first = std::getc(file), second = first == 0x1f ? std::getc(file) : EOF;
  if (first == 0x1f && second == 0x8b) {
    std::fclose(file);
    errno = ENOTSUP;
    return nullptr;
  }
  if (first == 0x1f) std::ungetc(second, file);
  std::ungetc(first, file);
  return file;
}
inline gzFile gzopen(const char* path, const char*) { return plain_only(std::fopen(path, "rb")); }
inline gzFile gzdopen(int fd, const char* mode) {
  if (mode[0] == 'r') return plain_only(fdopen(fd, "rb"));
  ::close(fd);
  errno = ENOTSUP;
  return nullptr;
}
inline int gzread(gzFile file, char* to, unsigned size) {
  const std::size_t n = std::fread(to, 1, size, file);
  return std::ferror(file) != 0 ? -1 : static_cast<int>(n);
}
inline int gzwrite(gzFile file, const char* from, unsigned size) {
  return static_cast<int>(std::fwrite(from, 1, size, file));
}
inline const char* gzerror(gzFile file, int* code) {
  *code = std::ferror(file) != 0 ? Z_ERRNO : Z_OK;
  return std::strerror(errno);
}
inline int gzbuffer(gzFile, unsigned) { return 0; }
inline int gzclose(gzFile file) { return std::fclose(file) == 0 ? Z_OK : Z_ERRNO; }

}  // namespace headway
#endif
