// When the plan of a batch scheduler repeats, and many repeats at once.
#include <algorithm>
#include <limits>

#include "sim/core/errors.h"
#include "sim/scheduling/batch_scheduler.h"
#include "sim/scheduling/decode_blocks.h"

namespace headway {

// Every policy of the family decodes all that runs, as far as budget and KV go, and admits the head
// of the line where there is a seat, budget and KV for it. The head was refused just now, and none
// of the three grows while nobody leaves.
bool BatchScheduler::may_repeat(const StepPlan& plan) const {
  if (plan.empty() || plan.batch() != running()) return false;
  if (!plan.preempted.empty() || !plan.rejected.empty()) return false;
  const bool may_join = waiting() > 0 && admits_to_running() && running() < engine_.max_num_seqs;
  return !may_join || !head_changes();
}

void BatchScheduler::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  if (!may_repeat(plan)) return;
  if (!decodes_.empty()) {
    if (plan.scheduled.empty()) repeats_of_gathered(out);
    return;
  }
  const std::size_t batch = plan.scheduled.size();
  if (!kv_->uniform()) return repeats_of_layers(plan, out);
  const bool grows = kv_->grows();
  const std::int32_t block_size = engine_.block_size;
  if (grows) out.new_blocks.assign(static_cast<std::size_t>(block_size), 0);
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < batch; ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    const Sequence& s = *entry.sequence;
    const std::int32_t room = kv_->room(s.slot);
    const bool decodes = entry.sequence == running_[i] && !entry.prefill && entry.samples;
    if (!decodes || room < 0 || (grows && room >= block_size)) return;
    if (grows) ++out.new_blocks[static_cast<std::size_t>(room)];
    // The last token that it emits is never stored.
    steps = std::min<std::int64_t>(steps, output_goal(s) - s.output_tokens - 1);
  }
  if (steps <= 0) return;
  out.steps = steps;
  limit_by_kv(out, static_cast<std::int64_t>(batch));
}

// Of layers that keep different things of a sequence (kv/kv_layout.h).
void BatchScheduler::repeats_of_layers(const StepPlan& plan, Repeats& out) const {
  std::vector<std::uint32_t> slots;
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < plan.scheduled.size(); ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    const Sequence& s = *entry.sequence;
    if (entry.sequence != running_[i] || entry.prefill || !entry.samples) return;
    steps = std::min<std::int64_t>(steps, output_goal(s) - s.output_tokens - 1);
    slots.push_back(s.slot);
  }
  const std::int64_t spare = decode_needs_free_block() ? 1 : 0;
  if (steps > 0) out.steps = kv_->growth(slots, steps, spare, out.new_blocks);
}

// REQUIRES: all of the plan were gathered before it.
void BatchScheduler::repeats_of_gathered(Repeats& out) const {
  if (decodes_.size() != running() || !decodes_.steady()) return;
  const std::int64_t steps = decodes_.next_finish() - decodes_.planned();
  if (steps <= 0) return;
  out.steps = steps;
  if (kv_->grows()) {
    out.new_blocks.resize(static_cast<std::size_t>(engine_.block_size));
    kv_->blocks_ahead(out.new_blocks);
  }
  limit_by_kv(out, decodes_.size());
}

void BatchScheduler::limit_by_kv(Repeats& out, std::int64_t batch) const {
  if (!kv_->grows()) return;
  // Cautious where a decode wants a free block without needing it: one is left over in every step.
  const std::int64_t spare = decode_needs_free_block() ? 1 : 0;
  const std::int64_t free = kv_->free_blocks() - spare;
  if (free < 0) {
    out.steps = 0;
  } else {
    limit_by_blocks(out, batch, free);
  }
}

void BatchScheduler::repeat(const StepPlan& plan, std::int64_t steps) {
  if (!decodes_.empty()) {
    kv_->tick(steps);
    decodes_.repeat(steps);
    on_steps_together(steps);
    return;
  }
  const auto n = static_cast<std::int32_t>(steps);
  for (const ScheduledSequence& entry : plan.scheduled) {
    Sequence& s = *entry.sequence;
    s.output_tokens += n;
    s.computed_tokens += n;
    SIM_CHECK(kv_->store(s.slot, s.computed_tokens), "a repeated step finds no KV");
    on_emitted(s, n);
  }
}

}  // namespace headway
