#include "sim/cli/profile_arguments.h"

#include <charconv>

namespace headway {
namespace {

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

void ProfileArguments::declare(Arguments& arguments) {
  arguments.text("--device", "cuda|cpu", device, "What to time on");
  arguments.list("--model", "M", models,
                 "Cover the widths of this model (a catalogue name, NAME:tp4, or a config.json); "
                 "may be given many times");
  arguments.text("--grid", "quick|full", grid, "How many points (default quick)");
  arguments.text("--kernel", "OP", kernel, "Only this operator or kernel");
  arguments.real("--budget-s", "S", budget_s,
                 "Time to spend in all, checks and closure included; it is not exceeded");
  arguments.text("-o,--output", "DIR", output, "Write the profile folder that the simulator reads");
  arguments.number("--seed", "N", seed, 0, "Seed of data, order and probes (default 1)");
  arguments.flag("--list", list, "List operators, variants and points, and time nothing");
  arguments.flag("--json", json, "Print every point as JSON instead of the table");
  arguments.flag("--csv", csv, "Print every point as CSV instead of the table");
  arguments.flag("--quiet", quiet, "No progress");
}

std::vector<std::string> ProfileArguments::words() const {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--device", device);
  for (const std::string& model : models) add("--model", model);
  add("--grid", grid);
  add("--kernel", kernel);
  if (budget_s) add("--budget-s", number(*budget_s));
  add("--output", output);
  if (seed) add("--seed", std::to_string(*seed));
  for (const auto& [name, given] :
       {std::pair{"--list", list}, {"--json", json}, {"--csv", csv}, {"--quiet", quiet}}) {
    if (given) words.emplace_back(name);
  }
  return words;
}

}  // namespace headway
