#pragma once

#include <functional>
#include <span>

#include "sim/cluster/build.h"
#include "sim/cluster/run_outcome.h"
#include "sim/metrics/observer.h"
#include "sim/scenario/scenario.h"

namespace headway {

struct RunOptions {
  bool step_by_step = false;      // every engine step as an event of its own: slower, same results
  int threads = 1;                // more than one: requests are read or drawn ahead of the simulation
  bool check_every_event = false;              // INV-1 and INV-2 after every event: slow, for tests
  std::function<void(double fraction)> progress;  // called now and then; 0..1 of the requests
};

// Replays the scenario's workload through its cluster. Deterministic: the same scenario and seed
// give the same events (INV-7). Observers are called in simulated-time order.
RunOutcome simulate(const Scenario& scenario, std::span<Observer* const> observers,
                    const RunOptions& options = {});

// The same on blueprints of the caller's (a cost model of its own, blueprints shared by many runs): one
// a pool, or the one of replicas that are alike. A pool's name, size and role are the scenario's.
RunOutcome simulate(const Scenario& scenario, std::span<const Blueprint> pools,
                    std::span<Observer* const> observers, const RunOptions& options = {});
RunOutcome simulate(const Scenario& scenario, const Blueprint& blueprint,
                    std::span<Observer* const> observers, const RunOptions& options = {});

}  // namespace headway
