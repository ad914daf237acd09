#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "kernels/profiler/grid.h"
#include "kernels/profiler/session.h"
#include "sim/cost/profile.h"

namespace headway::kernels {

struct ProfileRequest {
  GridSize grid = GridSize::kQuick;
  std::vector<ProfiledModel> models;
  double budget_s = 60;
  std::uint64_t seed = 1;
  StoppingRule rule;
  double longest_call_s = 0.05;
  double largest_call_bytes = 0;  // of buffers; 0 = what the device holds
  bool sustained = false;  // also run the largest products for two seconds
  std::string command_line;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string&)> say;  // progress, one short line; may be empty
};

// A check that failed, or threw: its kernel was not timed.
struct FailedCheck {
  std::string kernel, what;
};

// One measured point, as it is printed.
struct MeasuredRow {
  std::string op, impl;
  Variant variant;
  std::vector<std::int64_t> key;
  bool probe = false, ragged = false;
  Estimate time;
  int samples = 0, visits = 0;
  double clock_mhz = 0, flops_per_s = 0, bytes_per_s = 0;
};

struct ProfileOutcome {
  Profile profile;
  std::vector<MeasuredRow> rows;  // probes too
  std::vector<FailedCheck> failed;
  std::vector<std::string> refused;  // calls that the device would not run, one a point
};

// Checks every entry, measures the overheads, then the grid within the budget, then the closure.
// Never throws for what the device does: a kernel that fails is left out and named.
ProfileOutcome run_profile(Backend& backend, const std::vector<KernelEntry>& entries,
                           const ProfileRequest& request);

// Points of the grid as run_profile would have it, checks aside.
std::vector<Point> planned_points(const Device& device, const std::vector<KernelEntry>& entries,
                                  const ProfileRequest& request);

}  // namespace headway::kernels
