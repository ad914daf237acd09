// When the plan of a batch scheduler repeats, and many repeats at once.
#include <algorithm>
#include <limits>

#include "sim/core/errors.h"
#include "sim/scheduling/batch_scheduler.h"
#include "sim/scheduling/decode_blocks.h"

namespace headway {

// Every policy of the family decodes all that runs, as far as budget and KV go, and admits the head
// of the line where there is a seat, budget and KV for it. The head was refused just now, and none of
// the three grows while nobody leaves.
void BatchScheduler::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  const std::size_t batch = plan.scheduled.size();
  if (batch == 0 || batch != running_.size()) return;
  if (!plan.preempted.empty() || !plan.rejected.empty()) return;
  const bool may_join = waiting() > 0 && admits_to_running() && running() < engine_.max_num_seqs;
  if (may_join && head_changes()) return;
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
  if (!grows) return;
  // Cautious where a decode wants a free block without needing it: one is left over in every step.
  const std::int64_t spare = decode_needs_free_block() ? 1 : 0;
  const std::int64_t free = kv_->free_blocks() - spare;
  if (free < 0) {
    out.steps = 0;
  } else {
    limit_by_blocks(out, static_cast<std::int64_t>(batch), free);
  }
}

void BatchScheduler::repeat(const StepPlan& plan, std::int64_t steps) {
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
