#include "sim/cli/command_docs.h"

#include <algorithm>

#include "sim/cli/command.h"

namespace headway {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

class Recorder final : public Arguments {
 public:
  explicit Recorder(CommandDoc& out) : out_(out) {}

  void positional(const std::string& name, std::string&, const std::string& help,
                  bool required) override {
    out_.words.push_back({name, required, help});
  }
  void flag(const std::string& name, bool&, const std::string& help) override {
    add(name, "", help);
  }
  void text(const std::string& name, const std::string& metavar, std::string&,
            const std::string& help) override {
    add(name, metavar, help);
  }
  void optional_text(const std::string& name, const std::string& metavar, std::string&,
                     const std::string&, const std::string& help) override {
    add(name, metavar, help).optional_value = true;
  }
  void list(const std::string& name, const std::string& metavar, std::vector<std::string>&,
            const std::string& help) override {
    add(name, metavar, help).repeats = true;
  }
  void number(const std::string& name, const std::string& metavar, std::optional<std::int64_t>&,
              WholeRange, const std::string& help) override {
    add(name, metavar, help);
  }
  void real(const std::string& name, const std::string& metavar, std::optional<double>&,
            const std::string& help) override {
    add(name, metavar, help);
  }

 private:
  FlagDoc& add(const std::string& names, const std::string& metavar, const std::string& help) {
    return out_.flags.emplace_back(FlagDoc{split(names, ','), metavar, false, false, help});
  }

  CommandDoc& out_;
};

}  // namespace

std::vector<CommandDoc> command_docs() {
  std::vector<CommandDoc> docs;
  for (const CommandRow& row : command_table()) {
    CommandDoc& doc = docs.emplace_back();
    doc.name = row.name;
    doc.help = row.help;
    const auto command = row.make();
    Recorder recorder(doc);
    command->declare(recorder);
    doc.flags.push_back({{"-h", "--help"}, "", false, false, "Print this and exit"});
  }
  return docs;
}

std::vector<std::string> choices_of(const std::string& metavar) {
  if (metavar.find('|') == std::string::npos) return {};
  const auto plain = [](char c) { return c == '|' || c == '-' || (c >= 'a' && c <= 'z'); };
  if (!std::all_of(metavar.begin(), metavar.end(), plain)) return {};
  return split(metavar, '|');
}

}  // namespace headway
