#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/cost/profile.h"
#include "sim/kv/memory_budget.h"
#include "sim/metrics/observer.h"
#include "sim/replica/replica.h"
#include "sim/scenario/scenario.h"

namespace headway {

// What all replicas of a scenario share, built once: the lowered cost model, the memory budget,
// the settings with every default resolved.
struct Blueprint {
  std::shared_ptr<const CostModel> cost;
  MemoryBudget budget;
  SchedulerConfig scheduler;
  ReplicaConfig replica;
  HostTerms host;
  std::int32_t data_parallel_size = 1;  // engines a replica; in step where replica.in_step says so
  SpeculationOptions speculation;
  std::shared_ptr<const CostModel> draft_cost;  // one pass of the drafter; null = free or none
  std::uint64_t seed = 0;
  std::string profile_provenance_json;
};

// InputError when the scenario cannot be built (no such profile, the model does not fit ...).
Blueprint make_blueprint(const Scenario& scenario);
// The same with a profile at hand (one just measured) in place of the one that the scenario names.
Blueprint make_blueprint(const Scenario& scenario, const Profile& profile);
// One a pool of the cluster, or the one of replicas that are alike. A profile at hand stands in for the
// one that the scenario names, and for that of the pools which share it. InputError names the pool.
std::vector<Blueprint> make_blueprints(const Scenario& scenario, const Profile* profile = nullptr);
// `first_step`: what its steps are counted from. `room`: may be shared by replicas of one thread.
std::unique_ptr<Replica> make_replica(const Blueprint& blueprint, std::uint32_t id,
                                      std::span<Observer* const> observers,
                                      std::uint64_t first_step, std::shared_ptr<RunRoom> room);

}  // namespace headway
