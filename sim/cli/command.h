#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

// What a whole number may be, both ends included.
struct WholeRange {
  WholeRange(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max())
      : low(least), high(most) {}
  std::int64_t low, high;
};
inline constexpr std::int64_t kMostThreads = 4096;

// Where a command says what it takes. Names are spelled as typed: "--set", "-o,--output". The
// variables must outlive parsing, which fills them in. (command_line.cpp stands on CLI11; no other
// file has to compile it.)
class Arguments {
 public:
  virtual ~Arguments() = default;
  virtual void positional(const std::string& name, std::string& value, const std::string& help,
                          bool required = true) = 0;
  virtual void flag(const std::string& name, bool& value, const std::string& help) = 0;
  virtual void text(const std::string& name, const std::string& metavar, std::string& value,
                    const std::string& help) = 0;
  // With or without a value: `when_alone` stands for none.
  virtual void optional_text(const std::string& name, const std::string& metavar,
                             std::string& value, const std::string& when_alone,
                             const std::string& help) = 0;
  // May be given many times.
  virtual void list(const std::string& name, const std::string& metavar,
                    std::vector<std::string>& value, const std::string& help) = 0;
  virtual void number(const std::string& name, const std::string& metavar,
                      std::optional<std::int64_t>& value, WholeRange range,
                      const std::string& help) = 0;
  virtual void real(const std::string& name, const std::string& metavar,
                    std::optional<double>& value, const std::string& help) = 0;
};

// One subcommand. Data goes to stdout or a named file, talk to stderr.
class Command {
 public:
  virtual ~Command() = default;
  virtual void declare(Arguments& arguments) = 0;
  virtual int run() = 0;  // the exit code; InputError and StudyError for the rest

  // What was typed, quoted for a shell where that is needed.
  const std::string& command_line() const { return command_line_; }
  void set_command_line(int argc, char** argv);

 private:
  std::string command_line_;
};

// One row of the visible table: "trace inspect" is a subcommand of "trace".
struct CommandRow {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Command> (*make)();
};
std::span<const CommandRow> command_table();

// Parses argv into the row's command; nullptr when help was asked for and printed. InputError for
// an unknown command or flag, with the nearest one.
std::unique_ptr<Command> parse_command_line(int argc, char** argv);

}  // namespace headway
