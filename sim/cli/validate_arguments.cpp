#include "sim/cli/validate_arguments.h"

#include <charconv>

namespace headway {
namespace {

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

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
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  if (!scenario.empty()) words.push_back(scenario);
  add("--device", device);
  for (const std::string& set : sets) add("--set", set);
  if (rounds) add("--rounds", std::to_string(*rounds));
  if (seconds) add("--seconds", number(*seconds));
  if (profile_s) add("--profile-seconds", number(*profile_s));
  add("--save-profile", save_profile);
  if (seed) add("--seed", std::to_string(*seed));
  if (json) words.emplace_back("--json");
  if (quiet) words.emplace_back("--quiet");
  return words;
}

}  // namespace headway
