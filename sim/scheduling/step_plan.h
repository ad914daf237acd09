#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/metrics/step_facts.h"
#include "sim/scheduling/sequence.h"

namespace headway {

enum class ScheduledKind : std::uint8_t { kNew, kRunning, kResumed };

// One sequence's part in a step.
struct ScheduledSequence {
  Sequence* sequence = nullptr;
  ScheduledKind kind = ScheduledKind::kRunning;
  std::int32_t computed_before = 0;  // KV tokens before the step (prefix-cache hits included)
  std::int32_t num_tokens = 0;       // query tokens computed in the step, drafts included
  std::int32_t draft_tokens = 0;     // of them, drafts to verify
  bool samples = false;              // a token comes out of the step
  bool prefill = false;              // priced as a prefill chunk (else as decode)
  bool refines = false;              // a pass over a block of masked tokens; KV stays if it samples
  bool forks = false;                // every member of its group samples from it (sequence_group.h)
  std::int32_t preemptions = 0;      // the sequence's count when planned: tells a stale result
  std::uint64_t place = 0;           // order among gathered decodes (decode_set.h)
};

// Sequences that decode one token each, planned together without an entry each (decode_set.h).
struct GatheredDecodes {
  std::int32_t sequences = 0;
  std::int64_t kv_tokens = 0;  // summed over them, the step's own tokens included
  std::int32_t kv_max = 0;     // of the longest
};

struct Rejection {
  Sequence* sequence = nullptr;
  std::string reason;
};

// What a scheduler decides for one step. A buffer that the caller reuses: plan() clears and fills it.
struct StepPlan {
  GatheredDecodes decodes;                   // where they stand in the batch, write_out() tells
  std::vector<ScheduledSequence> scheduled;  // in the engine's own batch order
  std::vector<Sequence*> gathered;           // are among `decodes` from the next plan on
  std::vector<Sequence*> scattered;          // were, until this plan
  std::vector<Sequence*> preempted;          // in order of preemption
  std::vector<Rejection> rejected;           // can never run; already removed from the queues
  std::int32_t total_tokens = 0;             // sum of num_tokens
  std::int64_t swapped_in_blocks = 0;        // moved over the host link before the step
  std::int64_t swapped_out_blocks = 0;
  std::int64_t copied_blocks = 0;            // copied within the GPU before the step (copy-on-write)
  std::int32_t forked_sequences = 0;         // got another one's KV by reference
  SimTime wake_at = SimTime::never();        // nothing to run now, but look again at this instant
  // Said for who asks, and changes nothing: the first of the waiting line and why it was not admitted
  // (null = nobody waits, or not said), and for whom the preempted had to yield (as many as are known).
  const Sequence* held_back = nullptr;
  HeldBack held_back_by = HeldBack::kUnsaid;
  std::vector<const Sequence*> preempted_for;

  void hold_back(const Sequence& sequence, HeldBack cause) {
    held_back = &sequence;
    held_back_by = cause;
  }
  // Those preempted since the last call had to yield for it.
  void yielded_for(const Sequence& sequence) { preempted_for.resize(preempted.size(), &sequence); }

  bool empty() const { return batch() == 0; }
  std::int64_t batch() const {  // sequences in the step
    return decodes.sequences + static_cast<std::int64_t>(scheduled.size());
  }
  void clear() {
    decodes = {};
    scheduled.clear();
    gathered.clear();
    scattered.clear();
    preempted.clear();
    rejected.clear();
    total_tokens = 0;
    swapped_in_blocks = swapped_out_blocks = copied_blocks = 0;
    forked_sequences = 0;
    wake_at = SimTime::never();
    held_back = nullptr;
    held_back_by = HeldBack::kUnsaid;
    preempted_for.clear();
  }
};

// What the model step yielded, for Scheduler::complete: result i belongs to plan.scheduled[i].
struct StepResult {
  std::vector<std::int32_t> accepted_drafts;  // empty = none anywhere; else one an entry of scheduled
};

// What complete() made of it.
struct StepUpdate {
  struct Emission {
    Sequence* sequence;
    std::int32_t tokens;  // output tokens kept, >= 1
  };
  std::int64_t gathered_tokens = 0;   // output tokens of gathered decodes, one a sequence
  std::vector<Emission> emitted;      // in batch order; of the others
  std::vector<Sequence*> finished;    // in batch order; finish_reason is set, KV is freed
  std::int32_t dropped_beams = 0;     // beams given up, each for a fork of another one
  void clear() {
    dropped_beams = 0;
    gathered_tokens = 0;
    emitted.clear();
    finished.clear();
  }
};

}  // namespace headway
