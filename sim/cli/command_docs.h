#pragma once

#include <string>
#include <vector>

namespace headway {

// What a command declares, written down: completions and the man page read it, and so they know every
// command and flag that the program does.
struct FlagDoc {
  std::vector<std::string> names;  // "-o", "--output"
  std::string metavar;             // "" = takes no value
  bool optional_value = false;
  bool repeats = false;            // may be given many times
  std::string help;
};
struct WordDoc {
  std::string name;
  bool required = true;
  std::string help;
};
struct CommandDoc {
  std::string name;  // "trace inspect"
  std::string help;
  std::vector<FlagDoc> flags;
  std::vector<WordDoc> words;
};
// Of every row of command_table(), in its order.
std::vector<CommandDoc> command_docs();

// The values that a metavar names ("cuda|cpu"); empty where it names none.
std::vector<std::string> choices_of(const std::string& metavar);

// Scripts that complete command lines, for `shell`: bash, zsh or fish. InputError for another one.
std::string completions(const std::string& shell);
// The manual page, as man(7) has it.
std::string manual_page();

}  // namespace headway
