#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headway {

// Speculative decoding, as vLLM V1 counts it: a draft is a sequence and step with drafts to verify.
struct SpeculationInfo {
  std::uint64_t drafts = 0, drafted_tokens = 0, accepted_tokens = 0;
  double acceptance_rate = 0;         // accepted / drafted tokens
  double mean_acceptance_length = 0;  // 1 + accepted / drafts: the bonus token counts
  std::vector<double> per_position;   // unconditional rate of each position
};

// Requests with several samples or beams, and what sharing their KV saved.
struct SharingInfo {
  std::int64_t requests = 0, sequences = 0;
  std::int64_t forks = 0, drops = 0, copied_blocks = 0;
  std::int64_t peak_blocks = 0;           // held, of the fullest replica
  std::int64_t peak_blocks_unshared = 0;  // were nothing shared (prefix caching included)
  double saving = 0;                      // mean over steps: 1 - held / unshared
};

// KV that was sent between replicas.
struct TransferInfo {
  std::int64_t transfers = 0;
  double bytes = 0;
  double mean_ms = 0;           // from the first token until the KV was there
  double mean_wait_ms = 0;      // of that, for room at the receiver and for the link
  double link_utilisation = 0;  // of the senders' links, over the whole run
};

// A pool of the cluster.
struct PoolInfo {
  std::string name, role;
  std::int64_t replicas = 0;  // at the start
  std::int64_t gpus = 0;      // of them
  double mean_replicas = 0;   // paid for, over the whole run
  std::int64_t completed = 0, failed = 0;  // requests
  double utilisation = 0;     // share of the time paid for in which an engine had a step in flight
  double kv_peak_share = 0;   // of the fullest replica
  double mean_running = 0, mean_waiting = 0;  // requests, over the whole run
  double gpu_hours = 0;       // paid for
  std::optional<double> usd;  // unset: no price known
};

// What a report says of a run beside its numbers. Texts that are JSON are embedded as they are.
struct RunInfo {
  std::string backend = "headway";
  std::string model_id;
  // The two facts that differ between equal runs; unset = null in the result, so that a caller who
  // wants equal bytes leaves them out.
  std::optional<std::string> date;  // current_date()
  std::optional<double> wall_s;     // of the simulation itself

  std::optional<double> request_rate;  // configured, per second (infinity = all at once); unset = a
                                       // trace: the rate its arrivals had is reported
  std::optional<double> burstiness;
  std::int64_t max_concurrency = 0;  // 0 = none

  std::string version;        // of the program
  std::string scenario_json;  // resolved; "" = null
  std::uint64_t seed = 0;
  std::string fingerprint;
  std::int64_t events = 0;
  std::int64_t steps_skipped = 0;  // engine steps that were summed up in runs, not simulated singly
  std::int64_t num_gpu_blocks = 0;  // KV blocks of a replica; 0 = as the steps announced
  std::string kv_layout;            // what layers keep; "" = all of them every token
  std::uint64_t prefix_queries =
      0;  // tokens looked up in / found by the prefix caches, all replicas
  std::uint64_t prefix_hits = 0;
  std::uint64_t host_hits = 0;  // of them, in host memory
  std::optional<SpeculationInfo> speculation;  // unset: off
  std::optional<SharingInfo> sharing;          // unset: no request had several sequences
  std::optional<TransferInfo> transfers;       // unset: no request changed replicas
  std::vector<PoolInfo> pools;                 // empty: replicas are alike, and stay
  std::int64_t replica_failures = 0;
  std::int64_t retries = 0;                    // requests sent again after one
  std::vector<std::pair<std::string, std::int64_t>> kv_budget_bytes;  // in order of reading
  std::string profile_json;                                           // provenance; "" = null
};

// Now, in local time, as vLLM's benchmark writes it: 20260131-235959.
std::string current_date();

}  // namespace headway
