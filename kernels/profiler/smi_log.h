#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace headway::kernels {

// Power, temperature and clocks once a second by nvidia-smi, where there is one; reads only. It
// runs beside the measurements and ends with this object.
class SmiLog {
 public:
  explicit SmiLog(const std::string& program = "nvidia-smi");
  ~SmiLog();
  SmiLog(const SmiLog&) = delete;
  SmiLog& operator=(const SmiLog&) = delete;

  bool running() const { return child_ > 0; }
  static std::vector<std::string> columns();
  // The lines so far, one value a column; damaged and unfinished ones are left out.
  std::vector<std::vector<std::string>> rows() const;

 private:
  std::string file_;
  pid_t child_ = -1;
};

}  // namespace headway::kernels
