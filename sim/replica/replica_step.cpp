#include "sim/replica/replica_step.h"

#include <algorithm>

namespace headway {

namespace {

void add_chunk(const ScheduledSequence& entry, StepShape& shape) {
  PrefillChunk& chunk = shape.prefill.emplace_back();
  chunk.new_tokens = entry.num_tokens;
  chunk.context_tokens = entry.computed_before;
}

}  // namespace

void shape_of(const StepPlan& plan, StepShape& shape) {
  shape.clear();
  const GatheredDecodes& decodes = plan.decodes;
  shape.tokens = shape.sampled_sequences = decodes.sequences;
  shape.decode_sequences = shape.decode_query_tokens = decodes.sequences;
  shape.decode_kv_tokens = decodes.kv_tokens;
  shape.decode_kv_max = decodes.kv_max;
  for (const ScheduledSequence& entry : plan.scheduled) {
    shape.tokens += entry.num_tokens;
    if (entry.refines) {  // every token of the block looks at all before it and needs its logits
      shape.sampled_sequences += entry.num_tokens;
      add_chunk(entry, shape);
      continue;
    }
    if (entry.samples) shape.sampled_sequences += 1 + entry.draft_tokens;
    if (entry.prefill) {
      add_chunk(entry, shape);
      continue;
    }
    const std::int32_t kv = entry.computed_before + entry.num_tokens;
    shape.decode_sequences += 1;
    shape.decode_query_tokens += entry.num_tokens;
    shape.decode_kv_tokens += kv;
    shape.decode_kv_max = std::max(shape.decode_kv_max, kv);
  }
  shape.scheduled_sequences = static_cast<std::int32_t>(plan.batch());
}

void leave_prefill_out(const StepPlan& plan, StepShape& shape) {
  shape.prefill.clear();
  shape.tokens = shape.decode_query_tokens;
  shape.scheduled_sequences = shape.decode_sequences;
  for (const ScheduledSequence& entry : plan.scheduled) {
    if (entry.prefill && entry.samples) shape.sampled_sequences -= 1 + entry.draft_tokens;
    if (!entry.refines) continue;
    add_chunk(entry, shape);
    shape.tokens += entry.num_tokens;
    shape.scheduled_sequences += 1;
  }
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

namespace {

// What is known when the step has ended.
void write_end(const ReplicaStep& step, std::uint64_t index, StepRecord& record) {
  record.step = index;
  record.start = step.start;
  record.duration = step.end - step.start;
  record.kv_blocks = step.kv.held_blocks;
  record.kv_blocks_total = step.kv.total_blocks;
  record.kv_tokens_reserved = step.kv.held_blocks * step.kv.block_size;
  record.kv_tokens_stored = step.kv.tokens_stored;
  record.kv_largest_free_run = step.kv.largest_free_run;
  record.host = step.host;
  record.gpu = record.duration - step.host;
  static_assert(sizeof record.by_class_us == sizeof step.cost.by_class_us);
  record.by_class_us = step.cost.by_class_us;
  record.coverage_us = step.cost.coverage_us;
}

}  // namespace

const StepRecord& complete_record(ReplicaStep& step, std::uint64_t index) {
  write_end(step, index, step.record);
  return step.record;
}

// A number at a time: whoever hears of it reads it at once (core/in_place.h).
static_assert(sizeof(StepRecord) == 224, "a number more is to be written here");
void write_record(const ReplicaStep& step, std::uint64_t index, StepRecord& to) {
  const StepRecord& planned = step.record;
  to.replica = planned.replica;
  to.preempted = planned.preempted;
  to.recomputed_tokens = planned.recomputed_tokens;
  to.batch = planned.batch;
  to.prefill_tokens = planned.prefill_tokens;
  to.decode_tokens = planned.decode_tokens;
  to.cached_tokens = planned.cached_tokens;
  to.running = planned.running;
  to.waiting = planned.waiting;
  write_end(step, index, to);
}

}  // namespace headway
