#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/study/capacity.h"

namespace headway {

// The part of the command line that says what is looked for, and how.
class CapacityArguments {
 public:
  void declare(Arguments& arguments);
  // What must hold. InputError: an SLO that is none, or none at all where one is `required`.
  Requirements requirements(bool required) const;
  // InputError: a number that is none, limits the wrong way round.
  CapacityOptions options(const Requirements& requirements) const;
  // InputError: an attainment of limits that the scenario does not have.
  void check(const Scenario& scenario) const;
  bool seeds_given() const { return seeds_.has_value(); }
  // The first flag given that only a search has; "" = none.
  std::string search_flag() const;

 private:
  std::vector<std::string> slos_;
  std::optional<double> attainment_, tolerance_, low_, high_;
  std::optional<std::int64_t> seeds_, max_runs_;
  std::string find_;
};

}  // namespace headway
