#include "kernels/profiler/smi_log.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

extern char** environ;

namespace headway::kernels {

std::vector<std::string> SmiLog::columns() {
  return {"timestamp",  "power.draw",    "temperature.gpu",
          "clocks.sm",  "clocks.mem",    "clocks_throttle_reasons.active"};
}

SmiLog::SmiLog(const std::string& program) {
  char name[] = "/tmp/headway-smi-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) return;
  file_ = name;
  std::string query = "--query-gpu=";
  for (const std::string& column : columns()) query += (query.back() == '=' ? "" : ",") + column;
  std::string format = "--format=csv,noheader,nounits", id = "--id=0", loop = "--loop=1";
  std::string argv0 = program;
  char* argv[] = {argv0.data(), query.data(), format.data(), id.data(), loop.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  if (posix_spawnp(&child_, argv0.c_str(), &actions, nullptr, argv, environ) != 0) child_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(file);
}

SmiLog::~SmiLog() {
  if (child_ > 0) {
    ::kill(child_, SIGTERM);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!file_.empty()) ::unlink(file_.c_str());
}

std::vector<std::vector<std::string>> SmiLog::rows() const {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // no newline yet: still being written
    std::vector<std::string> cells;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      const std::size_t begin = std::min(line.find_first_not_of(' ', at), comma);
      cells.push_back(line.substr(begin, comma - begin));
      at = comma + 1;
    }
    if (cells.size() == columns().size()) rows.push_back(std::move(cells));
  }
  return rows;
}

}  // namespace headway::kernels
