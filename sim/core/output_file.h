#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace headway {

// A file that appears whole or not at all: written under a temporary name beside the target,
// renamed by commit(). Without commit() nothing is left behind. "-" is stdout; a device or pipe is
// written in place, a link's target is replaced and not the link; a name ending in .gz is
// compressed. A full disk, a closed pipe or an unwritable folder is an InputError naming the file.
// Not copyable.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void commit();  // flushes, checks, renames

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace headway
