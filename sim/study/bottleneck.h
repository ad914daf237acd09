#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/metrics/run_causes.h"
#include "sim/metrics/run_summary.h"
#include "sim/scenario/parse.h"
#include "sim/scenario/scenario.h"

namespace headway {

// What a run may be short of.
enum class Suspect : std::uint8_t {
  kCompute,
  kBandwidth,
  kKv,
  kSeats,
  kTokenBudget,
  kHost,
  kPolicy,
};
std::string_view suspect_name(Suspect suspect);  // "compute", "KV memory"

// One simulated run with the causes of its times.
struct ExplainedRun {
  RunSummary summary;
  RunCausesResult causes;
};
ExplainedRun simulate_explained(const Scenario& scenario, const RunOptions& options = {});

// How much of the times is a suspect's: of the TTFT of the slowest 1 % and of the mean E2EL.
struct SuspectShare {
  Suspect suspect = Suspect::kCompute;
  double of_tail_ttft = 0, of_mean_e2el = 0;
  double share() const { return (of_tail_ttft + of_mean_e2el) / 2; }
};
// All of them, the greatest share first.
//  - queueing belongs to what held the line back: seats, KV, a rule of the policy; while a step was
//    under way, to the GPU; the token budget, as far as steps with prompts waited for memory: of those
//    bound by arithmetic a larger budget only makes longer ones
//  - what preemption took belongs to KV, host time to the host
//  - prefill, others' prefill and decode belong to the GPU: to compute as far as the steps had enough
//    tokens for their products to be bound by arithmetic, to bandwidth for the rest
std::vector<SuspectShare> rank_suspects(const ExplainedRun& run);

// A change that should relieve a suspect, and what became of it when it was run.
struct Relief {
  Suspect suspect = Suspect::kCompute;
  Assignment change;
  std::string meaning;      // "twice the seats"
  std::string not_run;      // why it could not be ("" = it was)
  ExplainedRun after;
  bool helps = false;       // p99 TTFT or mean E2EL falls by a tenth or more, and neither rises by one
};

struct Bottleneck {
  std::vector<SuspectShare> suspects;  // rank_suspects()
  std::vector<Relief> tried;           // in this order; the last one helps, or none does
};

// Changes that should relieve it, the likeliest first.
std::vector<Relief> reliefs(Suspect suspect, const Scenario& scenario, const ExplainedRun& run);

// Runs changes, those for the first suspect first, until one helps or `most` have been run.
Bottleneck find_bottleneck(const Scenario& scenario, const ExplainedRun& run,
                           const RunOptions& options = {}, int most = 5);

// Tokens of a step from which on its products are bound by arithmetic on this scenario's GPU: those of
// the weights that a token uses; of experts that are chosen from many, as many times more.
double ridge_tokens(const Scenario& scenario);

}  // namespace headway
