#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>

#include "sim/cli/command.h"
#include "sim/cli/console.h"
#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

class Cli11Arguments final : public Arguments {
 public:
  explicit Cli11Arguments(CLI::App& app) : app_(app) {}

  void positional(const std::string& name, std::string& value, const std::string& help,
                  bool required) override {
    app_.add_option(name, value, help)->required(required)->type_name("");
  }
  void flag(const std::string& name, bool& value, const std::string& help) override {
    app_.add_flag(name, value, help);
  }
  void text(const std::string& name, const std::string& metavar, std::string& value,
            const std::string& help) override {
    app_.add_option(name, value, help)->type_name(metavar);
  }
  void optional_text(const std::string& name, const std::string& metavar, std::string& value,
                     const std::string& when_alone, const std::string& help) override {
    app_.add_option_function<std::vector<std::string>>(
            name,
            [&value, when_alone](const std::vector<std::string>& given) {
              value = given.empty() || given.front().empty() ? when_alone : given.front();
            },
            help)
        ->type_name("[" + metavar + "]")
        ->type_size(1)
        ->expected(0, 1);
  }
  void list(const std::string& name, const std::string& metavar, std::vector<std::string>& value,
            const std::string& help) override {
    // One value a flag, so that a following word is not swallowed.
    app_.add_option(name, value, help)
        ->type_name(metavar)
        ->type_size(1)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  }
  void number(const std::string& name, const std::string& metavar,
              std::optional<std::int64_t>& value, WholeRange range,
              const std::string& help) override {
    add_parsed(name, metavar, help, [&value, name, range](const std::string& given) {
      std::int64_t parsed = 0;
      const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), parsed);
      if (error != std::errc{} || end != given.data() + given.size() || parsed < range.low ||
          parsed > range.high) {
        throw InputError({"command line", name, "\"" + given + "\"",
                          "a whole number, " + text_of(range)});
      }
      value = parsed;
    });
  }
  void real(const std::string& name, const std::string& metavar, std::optional<double>& value,
            const std::string& help) override {
    add_parsed(name, metavar, help, [&value, name](const std::string& given) {
      double parsed = 0;
      const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), parsed);
      if (error != std::errc{} || end != given.data() + given.size() || !std::isfinite(parsed) ||
          parsed < 0) {
        throw InputError({"command line", name, "\"" + given + "\"", "a number, at least 0"});
      }
      value = parsed;
    });
  }

 private:
  static std::string text_of(const WholeRange& range) {
    if (range.high == std::numeric_limits<std::int64_t>::max()) {
      return "at least " + std::to_string(range.low);
    }
    return std::to_string(range.low) + " to " + std::to_string(range.high);
  }

  void add_parsed(const std::string& name, const std::string& metavar, const std::string& help,
                  std::function<void(const std::string&)> parse) {
    app_.add_option_function<std::string>(name, std::move(parse), help)->type_name(metavar);
  }

  CLI::App& app_;
};

CLI::App* subcommand(CLI::App& app, const std::string& name) {
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

// The application, and the command behind each of its leaves.
struct Program {
  CLI::App app{"Headway: what would this LLM serving setup do to these requests?", "headway"};
  std::map<CLI::App*, std::unique_ptr<Command>> commands;

  Program() {
    app.require_subcommand(1);
    app.set_help_flag("-h,--help", "Print this and exit");
    app.footer(
        "headway help COMMAND explains a command; headway help scenario every key of a scenario.");
    for (const CommandRow& row : command_table()) add(row);
  }

  void add(const CommandRow& row) {
    CLI::App* parent = &app;
    std::string name(row.name);
    if (const auto space = name.find(' '); space != std::string::npos) {
      const std::string group = name.substr(0, space);
      name = name.substr(space + 1);
      parent = subcommand(app, group);
      if (parent == nullptr) {
        parent = app.add_subcommand(group, "Look at traces and convert them");
        parent->require_subcommand(1);
      }
    }
    CLI::App* leaf = parent->add_subcommand(name, std::string(row.help));
    auto command = row.make();
    Cli11Arguments arguments(*leaf);
    command->declare(arguments);
    commands[leaf] = std::move(command);
  }
};

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// "sweep PLAN" beside "sweep merge DIR".
bool takes_words(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() && option->get_snames().empty()) return true;
  }
  return false;
}

// Says better than the library what is unknown: the first word that is no command, or the first
// flag that the command does not have.
void explain_unknown(CLI::App& root, int argc, char** argv) {
  CLI::App* at = &root;
  std::string path = "headway";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return;
    if (word.size() > 1 && word.front() == '-') {
      const std::string name = word.substr(0, word.find('='));
      const std::vector<std::string> known = flag_names(*at);
      const bool here = std::find(known.begin(), known.end(), name) != known.end();
      const bool glued =
          word[1] != '-' && std::find(known.begin(), known.end(), word.substr(0, 2)) != known.end();
      if (here || glued) continue;
      if (word.find_first_not_of("-0123456789.e") == std::string::npos)
        continue;  // a negative number
      throw InputError({"command line", path, "the unknown flag " + name, one_of(name, known)});
    }
    const std::vector<std::string> names = subcommand_names(*at);
    if (names.empty()) continue;
    if (takes_words(*at) && std::find(names.begin(), names.end(), word) == names.end()) continue;
    const auto known = std::find(names.begin(), names.end(), word);
    if (known == names.end()) {
      throw InputError({"command line", path, "the unknown command " + word, one_of(word, names)});
    }
    at = subcommand(*at, word);
    path += " " + word;
  }
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_./=:,+@%").find(static_cast<char>(c)) !=
                                       std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

void Command::set_command_line(int argc, char** argv) {
  command_line_ = "headway";
  for (int i = 1; i < argc; ++i) command_line_ += " " + shell_word(argv[i]);
}

std::unique_ptr<Command> parse_command_line(int argc, char** argv) {
  Program program;
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_out(program.app.help());  // of the subcommand that was reached
    return nullptr;
  } catch (const CLI::ParseError& error) {
    if (argc < 2) {
      print_err(program.app.help());
      throw InputError({"command line", "", "no command", "one of the commands above"});
    }
    explain_unknown(program.app, argc, argv);
    throw InputError({"command line", "", error.what(), "headway help explains each command"});
  }
  for (auto& [leaf, command] : program.commands) {
    const bool went_on = !leaf->get_subcommands().empty();  // to "sweep merge" from "sweep"
    if (!leaf->parsed() || went_on) continue;
    command->set_command_line(argc, argv);
    return std::move(command);
  }
  throw InternalError("a command line without a command was accepted");
}

}  // namespace headway
