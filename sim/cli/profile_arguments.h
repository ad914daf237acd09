#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command.h"

namespace headway {

// What `headway profile` takes. The simulator only hands it on; headway-profile declares the same.
struct ProfileArguments {
  std::string device;               // cuda, cpu
  std::vector<std::string> models;  // widths to profile; empty = the device's defaults
  std::string grid = "quick";       // quick, full
  std::string kernel;               // an op or a kernel; empty = all
  std::string output;               // profile folder; empty = print only
  std::optional<double> budget_s;
  std::optional<std::int64_t> seed;
  bool list = false, json = false, csv = false, quiet = false;

  void declare(Arguments& arguments);
  // The same as words of a command line.
  std::vector<std::string> words() const;
};

}  // namespace headway
