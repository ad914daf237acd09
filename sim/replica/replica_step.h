#pragma once

#include <cstdint>

#include "sim/core/sim_time.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/step_shape.h"
#include "sim/kv/kv_usage.h"
#include "sim/metrics/observer.h"
#include "sim/scheduling/step_plan.h"

namespace headway {

// A planned step of a replica: what was decided, what it costs, when it runs. A buffer that the
// replica uses again.
struct ReplicaStep {
  StepPlan plan;
  StepCost cost;
  double decode_only_us = 0;  // GPU time the step would have taken without its prefill chunks
  SimTime start, end, host;
  StepRecord record;          // as it is announced when it ends; the times and costs come last
  std::int32_t admitted = 0;  // requests that run for the first time
  bool only_decodes = false;  // one token each for sequences that ran before, and nothing besides
  KvUsage kv;                 // after the plan
};

// What the plan asks of the GPU.
void shape_of(const StepPlan& plan, StepShape& shape);
// The same step without its prompts' chunks and what they sample. REQUIRES: shape is the plan's.
void leave_prefill_out(const StepPlan& plan, StepShape& shape);
// A prefill chunk's own share of its step: the decode part it rides with, and its part of the rest by
// tokens. What is left over is other requests' prefill.
inline SimTime own_share(const ReplicaStep& step, const ScheduledSequence& entry) {
  const double share = static_cast<double>(entry.num_tokens) / step.record.prefill_tokens;
  return SimTime::from_us(step.decode_only_us +
                          (step.cost.gpu_us - step.decode_only_us) * share);
}
// A sequence preempted while its step was in flight has lost the chunk.
inline bool keeps_chunk(const ScheduledSequence& entry) {
  return entry.sequence->state == SequenceState::kRunning || entry.sequence->finished();
}
// GPU time beside the model's operators (drafting, swapping, copying): class kOther.
void add_other(StepCost& cost, const StepCost& other);
void add_other(StepCost& cost, double us, Coverage from);
// Writes times, costs and KV into the step's record, which is then complete; `index` counts the
// replica's steps from 0.
const StepRecord& complete_record(ReplicaStep& step, std::uint64_t index);
// The same, written elsewhere.
void write_record(const ReplicaStep& step, std::uint64_t index, StepRecord& to);

}  // namespace headway
