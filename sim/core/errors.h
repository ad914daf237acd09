#pragma once

#include <stdexcept>
#include <string>

namespace headway {

// The user's mistake (usage, scenario, trace, profile). main() prints it and exits with 2.
// Reads as "FILE: PLACE: found FOUND; expected EXPECTED"; empty parts are left out.
class InputError : public std::runtime_error {
 public:
  struct Parts {
    std::string file;      // the path as the user gave it, or "command line"
    std::string place;     // "line 12", "engine.max_num_seqs", "byte 1804"
    std::string found;     // what is there
    std::string expected;  // what would be valid
  };
  explicit InputError(Parts parts);
  explicit InputError(const std::string& message) : std::runtime_error(message) {}
  const Parts& parts() const { return parts_; }

 private:
  Parts parts_;
};

// A requested SLO is not met (exit code 4), part of a study failed (exit code 3).
class StudyError : public std::runtime_error {
 public:
  StudyError(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// Our own mistake: thrown by SIM_CHECK, in every build. main() prints it and exits with 1.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& detail = {});

}  // namespace headway

// Always on. The detail is evaluated only on failure.
#define SIM_CHECK(condition, ...)                                                       \
  do {                                                                                  \
    if (!(condition)) [[unlikely]] {                                                    \
      ::headway::check_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                   \
  } while (false)
