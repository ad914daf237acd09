#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "kernels/validate/comparison.h"
#include "kernels/validate/device.h"
#include "kernels/validate/regimes.h"
#include "sim/cost/profile.h"
#include "sim/replica/speculation.h"
#include "sim/scenario/scenario.h"

namespace headway::kernels {

struct ValidateOptions {
  int rounds = 3;            // runs of each regime
  double seconds = 4.5;      // of arrivals in each, on average over the regimes
  std::int64_t fewest = 12;  // requests in each
  double profile_s = 6;      // first pass over the kernels; a quarter of it after every run
  int retries = 3;           // a regime: runs made again because something else disturbed them
  double least_busy = 0.97;  // CPU time over wall time in an undisturbed run, waits left out
  Clock* clock = nullptr;    // null: wall-clock time
  std::function<void(const std::string&)> say;  // progress, may be empty
};

// One load regime, measured and predicted.
struct RegimeResult {
  Regime regime{};
  double rate = 0;              // requests a second
  std::int64_t requests = 0;    // of one run
  int runs = 0, disturbed = 0;  // runs that count, and those that were run again or left over
  double busy = 1;              // least share of CPU time in a run that counts
  std::array<Comparison, kFigures> figures;
};

// Kernels inside the running engine against the profile's price for the same steps.
struct StepClosure {
  std::int64_t steps = 0;
  double measured_us = 0, priced_us = 0;
  double ratio() const { return priced_us > 0 ? measured_us / priced_us : 0; }
};

struct Validation {
  Scenario scenario;  // as it was run
  std::string device;
  std::vector<std::string> notes;
  double capacity = 0;         // requests a second, all sent at once
  double capacity_tokens = 0;  // output tokens a second
  std::vector<RegimeResult> regimes;
  HostTerms host;                           // measured
  StepClosure decode_steps, prefill_steps;  // without and with prompt tokens
  Profile profile;                          // taken between the runs
  std::size_t profile_points = 0;
  TokenCheck tokens;
  SpeculationStats speculation;
  double draft_hit_rate = 1;  // share of its chances in which the drafter had a guess
  bool speculates = false;
  double least_busy = 0.97;  // below it, a run does not count
  double wall_s = 0;

  // Every judged figure below the knee within its allowance, and no wrong token.
  bool accurate() const;
  // Regimes below the knee of which no run was undisturbed.
  std::vector<std::string> unjudged() const;
};

// What the engine of this program is, said in the scenario's words: no asynchronous scheduling, no
// graphs, one replica; KV pinned to a size that the device's memory surely has. Notes say what was
// changed. InputError for what it cannot be.
Scenario as_engine_runs(const Scenario& scenario, std::vector<std::string>& notes);

// Runs, profiles, runs, ... predicts and compares.
Validation validate(const Scenario& scenario, ValidationDevice& device,
                    const ValidateOptions& options);

}  // namespace headway::kernels
