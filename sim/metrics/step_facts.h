#pragma once

#include <cstdint>
#include <span>

#include "sim/core/sim_time.h"

namespace headway {

struct StepRecord;

// What a replica's time has been spent on, seen from a sequence that is decoding all along: running
// totals, so that a request pays for a stretch of steps with one subtraction.
struct TimeLedger {
  SimTime decode, interference, host;
};

// Why the first sequence of a waiting line was not admitted when a step was planned.
enum class HeldBack : std::uint8_t {
  kNobody,       // nobody waits
  kSeats,        // as many run as may
  kTokenBudget,  // the step's tokens are given out
  kKvBlocks,     // too little KV is free
  kPolicy,       // a rule of the scheduler's own (a batch under way, a delay)
  kUnsaid,       // the scheduler does not say
};
inline constexpr std::size_t kHeldBackCauses = 6;

// One sequence's part in a step.
struct SequenceFacts {
  std::uint64_t request = 0;
  std::int32_t sample = 0;           // which of the request's sequences
  std::int32_t tokens = 0;           // computed in the step
  std::int32_t computed_before = 0;  // KV tokens before it (prefix hits included)
  bool prefill = false;
  bool refines = false;  // a pass over a block of masked tokens
  bool starts = false;   // from the waiting line: new, or resumed after a preemption
  // At the end of the step:
  bool kept = false;        // its chunk counts (it was not preempted meanwhile)
  bool has_output = false;  // it has a token by now
  SimTime own;              // prefill: its share of the step's GPU time
};

struct PreemptionFacts {
  std::uint64_t victim = 0;
  std::int32_t sample = 0;
  std::int64_t for_request = -1;      // who needed its KV; -1 = not said
  std::int32_t prefilled_tokens = 0;  // KV that it had at the end of its last chunk
};

// Output tokens of one sequence.
struct EmissionFacts {
  std::uint64_t request = 0;
  std::int32_t sample = 0;
  std::int32_t tokens = 0;
  bool running = false;  // else it has been preempted while its step ran
};

// A plan, announced when it is made. The views are valid during the call only. With skip-ahead, decodes
// that are planned together are not listed, and a plan that holds for many steps is told once.
struct PlanFacts {
  std::uint32_t replica = 0;
  SimTime now;
  TimeLedger ledger;
  std::span<const PreemptionFacts> preempted;
  std::span<const SequenceFacts> sequences;
  HeldBack held_back = HeldBack::kNobody;
  bool derived = false;    // from the step's facts: the scheduler does not say
  std::int64_t head = -1;  // the request that is held back; -1 = nobody, or not said
  std::int64_t running = 0, waiting = 0;  // after the plan
  std::int64_t kv_free = 0;               // blocks
};

// A step that ended, with those who had a part in it (see PlanFacts for who is not listed).
struct StepFacts {
  const StepRecord& record;
  TimeLedger ledger;  // at its end
  std::span<const SequenceFacts> sequences;
  std::span<const EmissionFacts> emissions;
};

}  // namespace headway
