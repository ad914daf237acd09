// Decoding sequences of vllm-v0 planned together (decode_set.h). They are first in the running
// queue, so that they come first in budget and in blocks, as when each is walked to. Where there
// may be too little of either they scatter: that step is planned one by one, and whoever decodes in
// it is gathered again.
//
// In the default rule a step of prompts holds decodes up, so a newcomer is gathered with its first
// decode step, not with its prompt: then all of them have had their last token in the same step.
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/scheduling/vllm_v0.h"

namespace headway {

// `partial`: null in the default rule, which has counted their seats already.
void VllmV0::plan_gathered(Budget& budget, const PartialPrefills* partial, StepPlan& plan) {
  if (decodes_.empty()) return;
  const auto sequences = static_cast<std::int32_t>(decodes_.growing());
  Budget left = budget;
  left.tokens += sequences;
  if (partial != nullptr) left.sequences += sequences;
  // Growing wants a free block even where it takes none.
  const bool enough = kv_.blocks_next_tick() + 1 <= kv_.free_gpu_blocks();
  const bool first = swapped_.empty() || partial == nullptr;
  if (!enough || !first || left.tokens > token_budget_ || leaves_any(left, partial)) {
    scatter_all(plan);
    return;
  }
  kv_.tick();
  plan.decodes = decodes_.tick();
  plan.total_tokens += sequences;
  budget = left;
}

// Whether tokens may run out before all of running_ had some. Those left over would come first in
// the next step, in front of the gathered.
bool VllmV0::leaves_any(Budget left, const PartialPrefills* partial) {
  for (const Sequence* s : running_) {
    const std::int32_t tokens = new_tokens(*s, left, partial).uncached;
    if (tokens == 0 || left.tokens + tokens > token_budget_) return true;
    left.tokens += tokens;
  }
  return false;
}

// After a plan: has a step in flight that samples, and wants a token more after that one.
bool VllmV0::may_gather(const Sequence& s) const {
  if (s.computed_tokens != s.known_tokens()) return false;
  // Several answers to one request are not told alike (of beams only one is heard).
  if (s.group != nullptr || s.sample != 0 || output_goal(s) - s.output_tokens < 2) return false;
  const std::int32_t room = kv_.room(s.slot);
  return room >= 0 && room < engine_.block_size;
}

void VllmV0::gather(StepPlan& plan) {
  const bool prompts = !plan.scheduled.empty() && plan.scheduled.front().prefill;
  if (engine_.enable_chunked_prefill ? !swapped_.empty() : prompts) return;
  while (!running_.empty() && may_gather(*running_.front())) {
    Sequence& s = *running_.front();
    running_.pop_front();
    gathered_.push_back(&s);
    decodes_.join(s, output_goal(s) - s.output_tokens - 1, false);
    kv_.gather(s.slot);
    plan.gathered.push_back(&s);
  }
}

// It has left the set: its KV is its own again.
void VllmV0::leave_gathered(Sequence& s) {
  gathered_.erase(std::find(gathered_.begin(), gathered_.end(), &s));
  kv_.scatter(s.slot);
}

void VllmV0::scatter_all(StepPlan& plan) {
  plan.scattered = gathered_;
  running_.insert(running_.begin(), gathered_.begin(), gathered_.end());
  gathered_.clear();
  for (Sequence* s : plan.scattered) {
    decodes_.scatter(*s);
    kv_.scatter(s->slot);
  }
}

void VllmV0::settle() {
  for (const Sequence* s : gathered_) decodes_.settle(*s);
}

void VllmV0::complete_gathered(StepUpdate& update) {
  update.gathered_tokens = decodes_.complete().emitted;
  while (Sequence* s = decodes_.next_finished()) {
    leave_gathered(*s);
    end_answer(*s, update);
    kv_.free(s->slot);
  }
}

void VllmV0::write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const {
  out.clear();
  const auto decodes =
      std::find_if(plan.scheduled.begin(), plan.scheduled.end(),
                   [](const ScheduledSequence& entry) { return !entry.prefill; });
  out.assign(plan.scheduled.begin(), decodes);
  if (plan.decodes.sequences > 0) {
    for (const Sequence* s : gathered_) {
      if (decodes_.takes_part(*s)) out.push_back(decodes_.entry(*s));
    }
  }
  out.insert(out.end(), decodes, plan.scheduled.end());
}

}  // namespace headway
