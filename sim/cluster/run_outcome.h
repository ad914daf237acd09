#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/transfers.h"
#include "sim/core/sim_time.h"
#include "sim/cost/profile.h"
#include "sim/kv/memory_budget.h"
#include "sim/replica/request_group.h"
#include "sim/replica/speculation.h"

namespace headway {

// Of the replicas of one pool, what the observers cannot hear.
struct PoolOutcome {
  std::int32_t replicas = 0;   // at the start
  std::int32_t most = 0;       // that it has numbers for
  std::int32_t engines = 0;    // of a replica
  double provisioned_s = 0;    // replica-seconds that were paid for
  MemoryBudget budget;         // of one replica
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
  std::int64_t failures = 0;      // of replicas
  std::int64_t retries = 0;       // of requests, after their replica failed
  SimTime end;
  MemoryBudget budget;            // of one replica (of the first pool)
  std::uint64_t prefix_queries = 0, prefix_hits = 0;  // tokens, all replicas
  std::uint64_t host_hits = 0;    // of them, in host memory
  TransferTotals transfers;       // of requests that changed replicas
  SpeculationStats speculation;   // all replicas; no drafts = off
  SharingStats sharing;           // all replicas; of requests with several samples or beams
  std::string cost_description;   // of the first pool, as what follows
  std::string profile_provenance_json;  // "" for the roofline
  HostTerms host;                 // in force
  std::vector<PoolOutcome> pools;  // one where replicas are alike
  std::vector<std::string> notes;
};

}  // namespace headway
