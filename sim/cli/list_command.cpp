#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/cli/catalogue_tables.h"
#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

std::string as_json(const TextTable& table) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t r = 1; r < table.size(); ++r) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < table[r].size(); ++c) {
      // A cell that is a number is one; "-" stands for none.
      const std::string& cell = table[r][c];
      const auto parsed = nlohmann::ordered_json::parse(cell, nullptr, false);
      object[table[0][c]] = cell == "-"          ? nlohmann::ordered_json()
                            : parsed.is_number() ? parsed
                                                 : nlohmann::ordered_json(cell);
    }
    list.push_back(std::move(object));
  }
  return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

class ListCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    std::string help = "One of";
    for (const CatalogueKind& kind : catalogue_kinds()) help += " " + std::string(kind.name);
    arguments.positional("kind", kind_, help);
    arguments.positional("prefix", prefix_, "Only names that begin so", false);
    arguments.flag("--accuracy", accuracy_,
                   "profiles: the leave-one-out error of every operator's table instead");
    arguments.flag("--json", json_, "Print JSON");
  }

  int run() override {
    if (accuracy_ && kind_ != "profiles") {
      throw InputError(
          {"command line", "headway list " + kind_, "--accuracy", "it with profiles only"});
    }
    TextTable table = accuracy_ ? accuracy_table(prefix_) : find().rows();
    // The heading stays.
    const auto other = [&](const std::vector<std::string>& row) {
      return !row.front().starts_with(prefix_);
    };
    table.erase(std::remove_if(table.begin() + 1, table.end(), other), table.end());
    print_out(json_ ? as_json(table) : aligned(table));
    return 0;
  }

 private:
  const CatalogueKind& find() const {
    std::vector<std::string> names;
    for (const CatalogueKind& kind : catalogue_kinds()) {
      if (kind.name == kind_) return kind;
      names.emplace_back(kind.name);
    }
    throw InputError({"command line", "headway list", "\"" + kind_ + "\"", one_of(kind_, names)});
  }

  std::string kind_, prefix_;
  bool accuracy_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

}  // namespace headway
