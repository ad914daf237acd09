// Many decode steps of vllm-v1 at once where sequences are not gathered: those of layouts with
// windows or states (kv/kv_layout.h), whose blocks do not only grow.
#include <algorithm>
#include <limits>

#include "sim/core/errors.h"
#include "sim/scheduling/vllm_v1.h"

namespace headway {

// Further steps that find the sequence with an answer to go on with, neither finished by a result
// nor, under asynchronous scheduling, foreseen to have its last token in flight.
std::int64_t VllmV1::steps_before_end(const Sequence& s) const {
  std::int64_t steps = longest_answer(s) - s.output_tokens - 1;
  if (async_) {
    const std::int64_t last = s.prompt_tokens + s.max_tokens - 1;
    steps = std::min(steps, last - s.computed_tokens);
  }
  return std::min<std::int64_t>(steps, max_model_len_ - 1 - s.computed_tokens);
}

// A window that slides gives blocks back, so the head of the queue may find some later: nobody may
// be waiting, or there is no seat.
void VllmV1::repeats_one_by_one(const StepPlan& plan, Repeats& out) const {
  const bool all = keeps_step_ && !plan.empty() && plan.scheduled.size() == running_.size();
  const bool quiet = plan.preempted.empty() && plan.rejected.empty() && refused_.empty();
  const bool some_wait = !waiting_.empty() || !received_.empty();
  if (!all || !quiet || (some_wait && running() < max_num_seqs_)) return;
  slots_.clear();
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    const Sequence& s = *entry.sequence;
    const bool decodes = &s == running_[i] && s.group == nullptr && !entry.prefill &&
                         entry.num_tokens == 1 && entry.samples &&
                         entry.kind == ScheduledKind::kRunning;
    if (!decodes || s.draft_tokens > 0) return;
    steps = std::min(steps, steps_before_end(s));
    slots_.push_back(s.slot);
  }
  if (steps > 0) out.steps = kv_.groups()->growth(slots_, steps, out.new_blocks);
}

void VllmV1::repeat_one_by_one(std::int64_t steps) {
  const auto n = static_cast<std::int32_t>(steps);
  if (!prefix_caching_ && kv_.groups()->counts_only()) {
    for (Sequence* s : running_) {
      kv_.groups()->grow(s->slot, steps);
      s->output_tokens += n;
      s->computed_tokens += n;
    }
    return;
  }
  for (std::int32_t step = 0; step < n; ++step) {
    for (Sequence* s : running_) {
      ++s->output_tokens;
      if (!async_) continue;
      --s->placeholders;
      kv_.cache_blocks(s->slot, s->computed_tokens - s->placeholders);
    }
    for (Sequence* s : running_) {
      const KvDemand demand{s->computed_tokens, 1, 0, s->known_tokens()};
      SIM_CHECK(kv_.allocate(s->slot, demand), "a repeated step finds no KV block");
      ++s->computed_tokens;
      if (async_) ++s->placeholders;
    }
  }
}

}  // namespace headway
