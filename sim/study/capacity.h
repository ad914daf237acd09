#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/metrics/run_summary.h"
#include "sim/scenario/pools.h"
#include "sim/scenario/scenario.h"
#include "sim/study/edge_search.h"
#include "sim/study/slo_target.h"

namespace headway {

// What is looked for.
enum class CapacityAxis : std::uint8_t {
  kRate,         // the highest request rate, per second (of a trace: its arrivals sped up)
  kConcurrency,  // the most requests in flight of a closed loop
  kReplicas,     // the fewest replicas
};

inline constexpr double kLeastTolerance = 1e-6;

struct CapacityOptions {
  CapacityAxis axis = CapacityAxis::kRate;
  Requirements requirements;
  int seeds = 5;            // independent searches, on draws of the workload of their own
  double tolerance = 0.01;  // of a search, as a ratio, kLeastTolerance to 1 (whole numbers: one)
  double low = 0, high = 0;  // limits of the search; 0 = the axis' own
  std::int64_t max_runs = 400;
  int threads = 1;
  bool step_by_step = false;  // as RunOptions has it
  std::function<void(std::int64_t runs, const std::string& what)> progress;  // any thread
};

// One simulated load.
struct CapacityRun {
  double load = 0;
  std::uint64_t seed = 0;
  std::string miss;  // "" = every requirement met
  RunSummary summary;
};

struct CapacityAnswer {
  Edge::Kind kind = Edge::Kind::kFound;
  double load = 0;            // the mean of the seeds' answers; replicas: what suffices for every seed
  double low = 0, high = 0;   // 95 % interval of the mean, the searches' tolerance included
  std::vector<double> by_seed;
  CapacityRun at;             // a run at the answer of the first seed
  CapacityRun beyond;         // the first seed's nearest run that is not good; why it is not
  std::vector<double> odd;    // loads on the good side that miss, or on the bad side that hold
  std::vector<double> checked;  // loads besides those of the search
  std::vector<CapacityRun> tried;  // every run, by load and then by seed
  std::int64_t runs = 0;
  double usd_per_million_output_tokens = 0, usd_per_million_tokens = 0;  // 0 = no price known
  std::int32_t gpus = 0;      // of the cluster, at the answer
};

// Finds how much load the scenario's setup bears. Every seed is searched on its own, with the same
// draws at every load (common random numbers: a faster arrival stream is the same stream, squeezed),
// and the spread of their answers gives the interval. InputError: a workload without that axis, or
// limits of the search that are no loads.
// StudyError: 3 when max_runs is spent, with what is known by then; 4 when no load is good.
CapacityAnswer find_capacity(const Scenario& scenario, const CapacityOptions& options);

// The scenario under that load.
Scenario scenario_at(const Scenario& scenario, CapacityAxis axis, double load);

// The scenario once, at the load that it states; `miss` by the requirements, where there are any.
CapacityRun run_at_own_load(const Scenario& scenario, const CapacityOptions& options);

// A load of the search as people think of it: a trace's in requests a second.
double shown_load(const Scenario& scenario, const CapacityOptions& options,
                  const CapacityAnswer& answer, double load);

// The answer's GPUs and what its tokens cost, by the GPUs' price an hour.
void price(const Scenario& scenario, CapacityAnswer& answer);

// Whether seeds draw anything in the scenario: otherwise all of them are the same run.
bool draws_anything(const Scenario& scenario);


}  // namespace headway
