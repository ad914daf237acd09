#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/model_spec.h"
#include "sim/scheduling/scheduler.h"
#include "sim/workload/request.h"

namespace headway::contract {

// A small random workload for one scheduler, and what may be expected of it.
struct SchedulerCase {
  SchedulerConfig config;
  std::vector<Request> requests;          // in order of arrival
  std::vector<SimTime> aborts;            // by request: when the client leaves; never() = stays
  std::vector<std::int32_t> token_limit;  // by request: output tokens if it is not rejected
  bool must_serve_all = false;            // every request fits: a rejection would be a fault
};

// What max_num_batched_tokens binds, by the scheduler's row.
TokenBudgetRule token_budget_rule(std::string_view scheduler);

// Draws a case. Settings that a scheduler would refuse are not drawn for it.
SchedulerCase draw_case(std::string_view scheduler, std::uint64_t seed);

// A case whose layers keep what the model's do, in blocks as few as its longest sequence needs or
// some more.
SchedulerCase draw_case(std::string_view scheduler, std::uint64_t seed, const ModelSpec& model);
// Small models, one for each thing that a layer may keep: a latent, a cache shared across layers,
// a window (beside full attention, or alone), compressed entries, states (beside it, or alone).
struct NamedModel {
  std::string name;
  ModelSpec model;
};
std::vector<NamedModel> small_models();

// Text of a case for failure messages.
std::string describe(const SchedulerCase& c);

// Runs the case through a replica's loop, checking the invariants after every call. Throws
// InternalError with what is wrong. Returns a fingerprint of all plans.
std::uint64_t run_case(const SchedulerCase& c, std::uint64_t seed);

}  // namespace headway::contract
