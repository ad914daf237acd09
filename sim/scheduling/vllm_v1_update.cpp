// The second half of vllm-v1: what a step that has run means for its sequences (vLLM's
// update_from_output). vllm_v1.cpp plans steps, vllm_v1_groups.cpp keeps samples and beams together.
#include <algorithm>

#include "sim/scheduling/vllm_v1.h"

namespace headway {

void VllmV1::complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) {
  update.clear();
  left_running_ = false;
  if (plan.decodes.sequences > 0) complete_gathered(update);
  for (std::size_t i = 0; i < plan.scheduled.size(); ++i) {
    complete_entry(plan.scheduled[i],
                   result.accepted_drafts.empty() ? 0 : result.accepted_drafts[i], update);
  }
  if (!left_running_) return;
  running_.erase(std::remove_if(running_.begin() + decodes_.size(), running_.end(),
                                [](const Sequence* s) { return s->finished(); }),
                 running_.end());
}

void VllmV1::complete_entry(const ScheduledSequence& entry, std::int32_t accepted,
                            StepUpdate& update) {
  Sequence& s = *entry.sequence;
  if (entry.forks) sample_followers(entry, update);
  if (s.finished() || !entry.samples) return;
  // Preempted while this step was in flight: its token still counts, unless (in a deep pipeline)
  // the sequence runs again and is about to sample that token anew.
  const bool stale = s.preemptions != entry.preemptions;
  if (stale && samples_anew(s)) return;
  const std::int32_t rejected = entry.draft_tokens - accepted;
  if (rejected > 0 && !stale) {
    s.computed_tokens -= rejected;
    kv_.roll_back(s.slot, rejected);
    if (async_) s.placeholders -= rejected;
  }
  take_tokens(s, 1 + accepted, update);
  if (s.group != nullptr && !stale) after_tokens(entry, update);
}

// Whether a sequence preempted while a step with it was in flight is computing that token again.
// Beams must stay in step, so their leader speaks for them.
bool VllmV1::samples_anew(const Sequence& s) const {
  if (s.group != nullptr && s.group->beams) {
    return s.group->leader().state == SequenceState::kRunning;
  }
  return async_ && s.state == SequenceState::kRunning;
}

std::int32_t VllmV1::longest_answer(const Sequence& s) const {
  return std::min({s.output_target, s.max_tokens, max_model_len_ - s.prompt_tokens});
}

// Appends the sampled tokens up to the one that ends the answer.
void VllmV1::take_tokens(Sequence& s, std::int32_t sampled, StepUpdate& update) {
  const std::int32_t longest = longest_answer(s);
  const std::int32_t kept = std::min(sampled, longest - s.output_tokens);
  s.output_tokens += kept;
  update.emitted.push_back({&s, kept});
  if (async_ && s.state == SequenceState::kRunning) {
    s.placeholders -= kept;
    kv_.cache_blocks(s.slot, s.computed_tokens - s.placeholders);
  }
  if (s.output_tokens < longest) return;
  if (s.state == SequenceState::kRunning) {
    left_running_ = true;
  } else if (s.sample != 0 && s.group != nullptr && !s.group->forked) {
    --followers_;  // a beam whose last token came after the preemption
  } else {
    waiting_.remove(&s);
  }
  end_answer(s, update);
}

// REQUIRES: the sequence has left the queues, or left_running_ is set.
void VllmV1::end_answer(Sequence& s, StepUpdate& update) {
  const bool stopped = s.output_tokens == s.output_target && s.output_target < s.max_tokens;
  finish(s, stopped ? FinishReason::kStop : FinishReason::kLength);
  update.finished.push_back(&s);
}

}  // namespace headway
