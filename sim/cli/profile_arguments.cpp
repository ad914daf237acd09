#include "sim/cli/profile_arguments.h"

#include "sim/cli/helper_words.h"

namespace headway {

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
  HelperWords words;
  words.add("--device", device);
  words.add("--model", models);
  words.add("--grid", grid);
  words.add("--kernel", kernel);
  words.add("--budget-s", budget_s);
  words.add("--output", output);
  words.add("--seed", seed);
  words.flag("--list", list);
  words.flag("--json", json);
  words.flag("--csv", csv);
  words.flag("--quiet", quiet);
  return words.take();
}

}  // namespace headway
