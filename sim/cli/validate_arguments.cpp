#include "sim/cli/validate_arguments.h"

#include "sim/cli/helper_words.h"

namespace headway {

void ValidateArguments::declare(Arguments& arguments) {
  arguments.positional("SCENARIO", scenario,
                       "Scenario file or name (default: validate-cpu or validate-cuda)", false);
  arguments.text("--device", "cuda|cpu", device, "What to run on");
  arguments.list("--set", "KEY=VALUE", sets, "Change a key of the scenario");
  arguments.number("--rounds", "N", rounds, 1, "Runs of each load regime (default 3)");
  arguments.real("--seconds", "S", seconds, "Seconds of arrivals in each run (default 4.5)");
  arguments.real("--profile-seconds", "S", profile_s,
                 "Seconds of the first profile; those between runs take a quarter (default 6)");
  arguments.text("--save-profile", "DIR", save_profile, "Keep the profile that was measured");
  arguments.number("--seed", "N", seed, 0, "Seed of the workload and of the weights");
  arguments.flag("--json", json, "Print JSON instead of the table");
  arguments.flag("--quiet", quiet, "No progress");
}

std::vector<std::string> ValidateArguments::words() const {
  HelperWords words;
  words.add(scenario);
  words.add("--device", device);
  words.add("--set", sets);
  words.add("--rounds", rounds);
  words.add("--seconds", seconds);
  words.add("--profile-seconds", profile_s);
  words.add("--save-profile", save_profile);
  words.add("--seed", seed);
  words.flag("--json", json);
  words.flag("--quiet", quiet);
  return words.take();
}

}  // namespace headway
