#pragma once

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/errors.h"

namespace headway {

// The files of a run. They appear together, after everything else has succeeded; when one cannot
// be finished, those before it go again.
class Outputs {
 public:
  // `name` is the flag, for messages.
  void claim(const std::string& name, const std::string& path) {
    if (path.empty()) return;
    if (std::find(paths_.begin(), paths_.end(), path) != paths_.end()) {
      throw InputError(
          {"command line", name, "\"" + path + "\" for two outputs", "a name for each"});
    }
    paths_.push_back(path);
  }
  bool to_stdout() const { return std::find(paths_.begin(), paths_.end(), "-") != paths_.end(); }

  template <typename File>
  void commit(const std::string& path, File& file) {
    try {
      file.commit();
    } catch (...) {
      for (const std::string& finished : done_) ::unlink(finished.c_str());
      throw;
    }
    // Only what was made here may be taken back: not a device, not stdout.
    if (path != "-" && !path.starts_with("/dev/")) done_.push_back(path);
  }

 private:
  std::vector<std::string> paths_, done_;
};

}  // namespace headway
