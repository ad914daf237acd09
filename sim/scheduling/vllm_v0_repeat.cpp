// When a decode step of vLLM V0 repeats, and many repeats at once.
#include <algorithm>
#include <limits>

#include "sim/scheduling/decode_blocks.h"
#include "sim/scheduling/vllm_v0.h"

namespace headway {

void VllmV0::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  const auto batch = static_cast<std::size_t>(plan.batch());
  if (plan.empty() || plan.batch() != running() || !nobody_will_join(plan)) return;
  const std::int32_t block_size = engine_.block_size;
  // Growing wants a free block even where it takes none. Cautious: one is left over in every step.
  const std::int64_t free = kv_.free_gpu_blocks() - 1;
  if (!decodes_.empty()) {
    if (!plan.scheduled.empty() || !decodes_.steady() || free < 0) return;
    out.steps = decodes_.next_finish() - decodes_.planned();
    if (out.steps <= 0) return;
    out.new_blocks.resize(static_cast<std::size_t>(block_size));
    kv_.blocks_ahead(out.new_blocks);
    limit_by_blocks(out, decodes_.size(), free);
    return;
  }
  out.new_blocks.assign(static_cast<std::size_t>(block_size), 0);
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  slots_.clear();
  for (std::size_t i = 0; i < batch; ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    const Sequence& s = *entry.sequence;
    const bool decodes = entry.sequence == running_[i] && entry.kind == ScheduledKind::kRunning &&
                         !entry.prefill && entry.num_tokens == 1 && entry.samples;
    if (!decodes) return;
    ++out.new_blocks[static_cast<std::size_t>(kv_.room(s.slot))];
    slots_.push_back(s.slot);
    steps = std::min<std::int64_t>(steps, output_goal(s) - s.output_tokens - 1);
  }
  if (steps > 0) steps = kv_.steps_of_new_content(slots_, steps);
  if (steps <= 0 || free < 0) return;
  out.steps = steps;
  limit_by_blocks(out, static_cast<std::int64_t>(batch), free);
}

// Nobody finds room later who finds none now. Seats and budget stay taken, and free blocks only
// become fewer, since no block that becomes full has a twin.
bool VllmV0::nobody_will_join(const StepPlan& plan) const {
  if (!plan.preempted.empty() || !plan.rejected.empty()) return false;
  // A swapped sequence takes fewer blocks back where a decode fills one that it has, too.
  const auto is_its_own = [this](const ScheduledSequence& entry) {
    return kv_.answer_is_its_own(entry.sequence->slot);
  };
  if (!swapped_.empty() && engine_.enable_prefix_caching &&
      !std::all_of(plan.scheduled.begin(), plan.scheduled.end(), is_its_own)) {
    return false;
  }
  if (waiting_.empty()) return true;
  const bool chunked = engine_.enable_chunked_prefill;
  if (engine_.delay_factor > 0 && (chunked || swapped_.empty()))
    return false;            // it passes with time
  if (chunked) return true;  // the waiting were refused just now, after the decodes
  // Not chunked, they were refused before the decodes, which may have freed a twin since; and by
  // priority both queues were sorted afterwards.
  const Sequence& head = *waiting_.front();
  if (engine_.policy == "priority" &&
      (!kv_.looked_up(head.slot) || more_urgent(&head, running_.back()))) {
    return false;
  }
  if (!swapped_.empty()) return true;
  const VllmV0Blocks::Fit fit = kv_.can_admit(head.known_tokens());
  if (head.prompt_tokens >= engine_.max_model_len || fit == VllmV0Blocks::Fit::kNever) return false;
  return fit == VllmV0Blocks::Fit::kLater || running() >= engine_.max_num_seqs;
}

// Every sequence of the run was last used in its first step, not in its last, as far as the KV
// knows. That moves them all alike, to an instant after all older uses and before all later ones:
// the order of eviction is the same.
void VllmV0::repeat(const StepPlan& plan, std::int64_t steps) {
  if (!decodes_.empty()) {
    kv_.tick(steps);
    decodes_.repeat(steps);
    return;
  }
  slots_.clear();
  for (const ScheduledSequence& entry : plan.scheduled) {
    Sequence& s = *entry.sequence;
    s.output_tokens += static_cast<std::int32_t>(steps);
    s.computed_tokens += static_cast<std::int32_t>(steps);
    slots_.push_back(s.slot);
  }
  kv_.extend(slots_, steps);
}

}  // namespace headway
