#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command.h"

namespace headway {

// What `headway validate` takes. The simulator only hands it on; headway-validate declares the
// same.
struct ValidateArguments {
  std::string device;             // cuda, cpu
  std::string scenario;           // file or catalogue name; empty = validate-DEVICE
  std::vector<std::string> sets;  // KEY=VALUE
  std::string save_profile;       // folder for the profile that was measured; empty = none
  std::optional<std::int64_t> rounds, seed;
  std::optional<double> seconds, profile_s;
  bool json = false, quiet = false;

  void declare(Arguments& arguments);
  // The same as words of a command line.
  std::vector<std::string> words() const;
};

}  // namespace headway
