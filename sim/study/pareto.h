#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/study/capacity.h"
#include "sim/study/plan.h"
#include "sim/study/sweep.h"

namespace headway {

// One setup of a plan at the load it bears: what a user sees of it against what a GPU yields.
struct ParetoSetup {
  enum class Status : std::uint8_t {
    kOk,
    kMissed,   // no load meets the SLO; of a fixed load: this one does not
    kRefused,  // cannot be: does not fit, does not divide
    kFailed,   // an error, or no answer within the runs allowed
  };
  std::int64_t index = 0;  // in the plan
  std::string label;       // "engine.scheduler=orca, parallel.tensor_parallel_size=2"
  std::vector<std::pair<std::string, std::string>> settings;  // key, value as a person writes it
  Status status = Status::kOk;
  std::string reason;  // of all but kOk

  // Of kOk:
  std::int32_t gpus = 0;
  double load = 0, load_low = 0, load_high = 0;  // in the unit of the study, with its interval
  bool always_met = false;                       // the load is where the search ended, not a limit
  double tokens_per_s_per_user = 0;              // 1 / mean TPOT
  double tokens_per_s_per_gpu = 0;               // output tokens
  double usd_per_million_tokens = 0, usd_per_million_output_tokens = 0;  // 0 = no price known
  std::optional<double> request_goodput, slo_attainment;                 // unset: no limits
  double ttft_p99_ms = 0, tpot_mean_ms = 0;
  std::int64_t runs = 0;
  bool on_front = false;
};
const char* status_name(ParetoSetup::Status status);

struct ParetoOptions {
  CapacityOptions search;   // of every point; its threads are 1
  bool fixed_load = false;  // no search: each point at the load that its scenario states
};

struct ParetoTable {
  std::string name;                // of the plan
  std::vector<std::string> keys;   // of its axes
  std::vector<std::string> shown;  // of them, those that tell the setups apart: of keys that step
                                   // together the first, where its values differ
  ParetoOptions options;
  std::vector<ParetoSetup> points;  // in plan order
};

// Marks, of the points that are kOk, those that no other one with as many GPUs dominates: at least
// as good in tokens/s/user and in tokens/s/GPU, and better in one. Of equal points all are marked.
void mark_fronts(std::vector<ParetoSetup>& points);
// The GPU counts of the points that are kOk, ascending.
std::vector<std::int32_t> gpu_counts(const std::vector<ParetoSetup>& points);
// Those of one count, by tokens/s/user, the fastest first.
std::vector<const ParetoSetup*> points_of(const std::vector<ParetoSetup>& points,
                                          std::int32_t gpus);

// The plan as such a study's, so that its folder is told from those of other studies (plan_hash).
// InputError: an axis that is the load which is searched for, or seeds, which a search has by
// itself.
Plan pareto_plan(const Plan& plan, const ParetoOptions& options);

// Finds what a scenario bears and gives it as JSON text, for Sweep. Any thread.
PointRunner pareto_runner(const ParetoOptions& options);

// The table of finished points, with its fronts marked. `results` is in plan order.
ParetoTable pareto_table(const Plan& plan, const ParetoOptions& options,
                         const std::vector<PointResult>& results);

}  // namespace headway
