#include <algorithm>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scenario/parse.h"

namespace headway {
namespace {

std::string scenario_help() {
  std::vector<std::vector<std::string>> rows = {{"KEY", "DEFAULT", "VALID", "WHAT IT IS"}};
  std::vector<FieldDoc> docs = scenario_fields();
  const std::vector<FieldDoc> lengths = length_fields();
  docs.insert(docs.end(), lengths.begin(), lengths.end());
  for (const FieldDoc& doc : docs) {
    rows.push_back({doc.key, doc.default_value.empty() ? "(required)" : doc.default_value,
                    doc.valid.empty() ? doc.type : doc.valid, doc.help});
  }
  return "A scenario is a JSON file (// comments allowed). Every key can also be given as --set "
         "KEY=VALUE.\n"
         "LENGTH stands for workload.input_len and the like: a number of tokens, or an "
         "object.\n\n" +
         aligned(rows);
}

class HelpCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("command", topic_, "A command, or \"scenario\"", false);
    arguments.positional("subcommand", detail_, "Its subcommand", false);
  }

  int run() override {
    if (topic_ == "scenario") {
      print_out(scenario_help());
      return 0;
    }
    std::vector<std::string> names = {"scenario"};
    for (const CommandRow& row : command_table()) {
      const std::string name(row.name.substr(0, row.name.find(' ')));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    if (!topic_.empty() && std::find(names.begin(), names.end(), topic_) == names.end()) {
      throw InputError(
          {"command line", "headway help", "\"" + topic_ + "\"", one_of(topic_, names)});
    }
    std::vector<std::string> words = {"headway", topic_, detail_, "--help"};
    std::vector<char*> argv;
    for (std::string& word : words) {
      if (!word.empty()) argv.push_back(word.data());
    }
    parse_command_line(static_cast<int>(argv.size()), argv.data());
    return 0;
  }

 private:
  std::string topic_, detail_;
};

}  // namespace

std::unique_ptr<Command> make_help_command() { return std::make_unique<HelpCommand>(); }

}  // namespace headway
