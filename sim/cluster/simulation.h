#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/build.h"
#include "sim/core/sim_time.h"
#include "sim/cost/profile.h"
#include "sim/kv/memory_budget.h"
#include "sim/metrics/observer.h"
#include "sim/scenario/scenario.h"

namespace headway {

struct RunOptions {
  bool step_by_step = false;      // every engine step as an event of its own: slower, same results
  int threads = 1;                // more than one: requests are read or drawn ahead of the simulation
  bool check_every_event = false;              // INV-1 and INV-2 after every event: slow, for tests
  std::function<void(double fraction)> progress;  // called now and then; 0..1 of the requests
};

// What a run was, beside what the observers heard.
struct RunOutcome {
  // Over the time and place of every arrival, in order, and the end of every step, by replica.
  std::uint64_t fingerprint = 0;
  std::uint64_t events = 0;         // handled; fewer where steps were skipped
  std::uint64_t steps = 0;
  std::uint64_t dummy_steps = 0;    // beside them: of ranks in step with others, without work
  std::uint64_t steps_skipped = 0;  // of them, summed up in runs instead of simulated one by one
  std::int64_t requests = 0;      // that arrived
  std::int64_t preemptions = 0;
  SimTime end;
  MemoryBudget budget;            // of one replica
  std::uint64_t prefix_queries = 0, prefix_hits = 0;  // tokens, all replicas
  SpeculationStats speculation;   // all replicas; no drafts = off
  SharingStats sharing;           // all replicas; of requests with several samples or beams
  std::string cost_description;
  std::string profile_provenance_json;  // "" for the roofline
  HostTerms host;                 // in force
  std::vector<std::string> notes;
};

// Replays the scenario's workload through its cluster. Deterministic: the same scenario and seed
// give the same events (INV-7). Observers are called in simulated-time order.
RunOutcome simulate(const Scenario& scenario, std::span<Observer* const> observers,
                    const RunOptions& options = {});

// The same on a blueprint of the caller's (a cost model of its own, a blueprint shared by many runs).
RunOutcome simulate(const Scenario& scenario, const Blueprint& blueprint,
                    std::span<Observer* const> observers, const RunOptions& options = {});

}  // namespace headway
