#include "sim/replica/replica_step.h"

#include <algorithm>

namespace headway {

void shape_of(const StepPlan& plan, StepShape& shape) {
  shape.clear();
  for (const ScheduledSequence& entry : plan.scheduled) {
    shape.tokens += entry.num_tokens;
    if (entry.samples) shape.sampled_sequences += 1 + entry.draft_tokens;
    if (entry.prefill) {
      shape.prefill.push_back({entry.num_tokens, entry.computed_before});
      continue;
    }
    const std::int32_t kv = entry.computed_before + entry.num_tokens;
    shape.decode_sequences += 1;
    shape.decode_query_tokens += entry.num_tokens;
    shape.decode_kv_tokens += kv;
    shape.decode_kv_max = std::max(shape.decode_kv_max, kv);
  }
  shape.scheduled_sequences = static_cast<std::int32_t>(plan.scheduled.size());
}

void leave_prefill_out(const StepPlan& plan, StepShape& shape) {
  for (const ScheduledSequence& entry : plan.scheduled) {
    if (entry.prefill && entry.samples) shape.sampled_sequences -= 1 + entry.draft_tokens;
  }
  shape.prefill.clear();
  shape.tokens = shape.decode_query_tokens;
  shape.scheduled_sequences = shape.decode_sequences;
}

void add_other(StepCost& cost, const StepCost& other) {
  cost.gpu_us += other.gpu_us;
  cost.by_class_us[static_cast<std::size_t>(OpClass::kOther)] += other.gpu_us;
  for (std::size_t i = 0; i < kCoverageKinds; ++i) cost.coverage_us[i] += other.coverage_us[i];
}

void add_other(StepCost& cost, double us, Coverage from) {
  StepCost other;
  other.gpu_us = us;
  other.coverage_us[static_cast<std::size_t>(from)] = us;
  add_other(cost, other);
}

StepRecord record_of(const ReplicaStep& step, std::uint32_t replica, std::uint64_t index) {
  StepRecord record;
  record.replica = replica;
  record.step = index;
  record.start = step.start;
  record.duration = step.end - step.start;
  record.batch = static_cast<std::int32_t>(step.plan.scheduled.size());
  record.prefill_tokens = step.prefill_tokens;
  record.decode_tokens = step.decode_tokens;
  record.cached_tokens = step.cached_tokens;
  record.recomputed_tokens = step.recomputed_tokens;
  record.running = step.running;
  record.waiting = step.waiting;
  record.kv_blocks = step.kv.held_blocks;
  record.kv_blocks_total = step.kv.total_blocks;
  record.kv_tokens_reserved = step.kv.held_blocks * step.kv.block_size;
  record.kv_tokens_stored = step.kv.tokens_stored;
  record.kv_largest_free_run = step.kv.largest_free_run;
  record.preempted = static_cast<std::int32_t>(step.plan.preempted.size());
  record.host = step.host;
  record.gpu = record.duration - step.host;
  std::copy(step.cost.by_class_us.begin(), step.cost.by_class_us.end(), record.by_class_us.begin());
  std::copy(step.cost.coverage_us.begin(), step.cost.coverage_us.end(), record.coverage_us.begin());
  return record;
}

}  // namespace headway
