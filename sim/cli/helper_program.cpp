#include "sim/cli/helper_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/core/errors.h"

namespace headway {

std::string helper_path(const std::string& program) {
  std::error_code ec;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ec);
  return ec ? program : (self.parent_path() / program).string();
}

void become_helper(const std::string& program, const std::vector<std::string>& arguments) {
  const std::string path = helper_path(program);
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  const int error = errno;
  if (error == ENOENT) {
    throw InputError({"", program, "no such program at " + path,
                      "a build with kernels/, which makes it beside headway"});
  }
  throw InputError({"", program, std::string(std::strerror(error)) + " (" + path + ")",
                    "a program that can be run"});
}

}  // namespace headway
