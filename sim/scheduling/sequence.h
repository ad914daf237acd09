#pragma once

#include <cstdint>

#include "sim/core/sim_time.h"
#include "sim/workload/request.h"

namespace headway {

enum class SequenceState : std::uint8_t {
  kWaiting, kRunning, kPreempted, kSwapped, kFinished,
  kReceiving,  // its KV is on its way from another replica (Scheduler::expect)
};
enum class FinishReason : std::uint8_t { kNone, kStop, kLength, kAborted, kRejected };

struct SequenceGroup;

// A request inside one replica: its facts and its progress. Owned by the replica; changed only by
// the scheduler that holds it. Its address is stable and its slot its own from add() until the
// finish was reported and every outstanding plan that names it has completed: with several batches
// in flight, a finished or aborted sequence may still be part of a later one.
//
// One notion of progress: `computed_tokens` (KV exists) catches up with `known_tokens()` (prompt
// plus answers so far). Prefill, chunked prefill, decode and verification are readings of that gap.
struct Sequence {
  const Request* request = nullptr;
  std::uint32_t slot = 0;          // small dense number, reused after the finish: index of side tables
  std::uint64_t order = 0;         // admission order at this replica; ties of equal arrival times
  SimTime arrival;                 // when it entered this replica's queue
  std::int32_t prompt_tokens = 0;
  std::int32_t max_tokens = 0;     // output limit the engine knows
  std::int32_t output_target = 0;  // output at which the model stops by itself (<= max_tokens)
  std::int32_t priority = 0;
  std::int32_t sample = 0;         // which of the request's samples or beams; 0 = the first or only one
  bool received = false;           // came with its KV and has yet to run
  bool keeps_kv = false;           // past its end, until Scheduler::release(): it is to be sent on
  SequenceGroup* group = nullptr;  // of those that share KV with it (sequence_group.h); null = none

  SequenceState state = SequenceState::kWaiting;
  FinishReason finish_reason = FinishReason::kNone;
  std::int32_t output_tokens = 0;    // emitted so far
  std::int32_t computed_tokens = 0;  // tokens whose KV exists (or is promised by a step in flight)
  std::int32_t draft_tokens = 0;     // proposed, not yet verified
  std::int32_t placeholders = 0;     // async only: output tokens scheduled, not yet known
  std::int32_t cached_tokens = 0;    // prompt tokens found in the prefix cache at the last admission
  std::int32_t preemptions = 0;

  std::int32_t known_tokens() const { return prompt_tokens + output_tokens; }
  bool finished() const { return state == SequenceState::kFinished; }
  // Whether draft tokens may be proposed after a step that sampled for it: just the last known token
  // lacks its KV (a preempted or a partly prefilled sequence lacks more).
  bool takes_drafts() const {
    return state == SequenceState::kRunning && computed_tokens == known_tokens() - 1;
  }
};

// The sequence of a request that enters a replica's queue at `arrival`. The request must outlive it.
Sequence make_sequence(const Request& request, std::uint32_t slot, std::uint64_t order,
                       SimTime arrival);

}  // namespace headway
