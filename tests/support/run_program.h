#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace headway::test {

struct ProgramResult {
  int exit_code = -1;  // 128 + signal when one ended it
  std::string out, err;
};

// Where the program's stdout goes.
enum class Stdout { kCaptured, kFullDisk, kClosedPipe };

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

namespace detail {

inline int open_stdout(Stdout where, const std::string& path) {
  if (where == Stdout::kFullDisk) return ::open("/dev/full", O_WRONLY);
  if (where == Stdout::kCaptured) return ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  ::close(ends[0]);
  return ends[1];
}

}  // namespace detail

// Runs the built program, in `folder` when given, with `input` on stdin.
inline ProgramResult run_program(const std::vector<std::string>& arguments,
                                 Stdout where = Stdout::kCaptured, const std::string& folder = "",
                                 const std::string& input = "") {
  const TempFolder temp;
  const std::string in_path = temp.write("in", input), out_path = temp / "out",
                    err_path = temp / "err";
  std::vector<char*> argv = {const_cast<char*>(HEADWAY_BINARY)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int in = ::open(in_path.c_str(), O_RDONLY);
  const int out = detail::open_stdout(where, out_path);
  const int err = ::open(err_path.c_str(), O_WRONLY | O_CREAT, 0600);
  if (in < 0 || out < 0 || err < 0) throw std::runtime_error("no streams for the program");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process for the program");
  if (child == 0) {
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(126);
    ::execv(HEADWAY_BINARY, argv.data());
    ::_exit(127);
  }
  for (const int fd : {in, out, err}) ::close(fd);
  int status = 0;
  ::waitpid(child, &status, 0);
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (where == Stdout::kCaptured) result.out = read_text(out_path);
  result.err = read_text(err_path);
  return result;
}

}  // namespace headway::test
