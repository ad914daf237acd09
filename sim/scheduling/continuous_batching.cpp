#include "sim/scheduling/continuous_batching.h"

namespace headway {

void ContinuousBatching::decide(SimTime now, StepPlan& plan) {
  decode_running(plan);
  if (!plan.preempted.empty()) return;
  const std::size_t decodes = plan.scheduled.size();
  admit_waiting(now, plan);
  if (plan.scheduled.size() > decodes) prompts_first(plan);
}

void ContinuousBatching::decode_running(StepPlan& plan) {
  // The others come after them, and yield to each other alone.
  std::size_t i = plan_gathered(token_budget_, 0, plan);
  while (i < running_.size() && plan.total_tokens < token_budget_) {
    Sequence& sequence = *running_[i];
    if (in_flight(sequence) || try_decode(sequence, plan)) {
      ++i;
      continue;
    }
    const std::size_t loser = victim(i);
    if (in_flight(*running_[loser])) {  // its blocks are in use; try again when it is back
      ++i;
      continue;
    }
    preempt(*running_[loser], plan);
    plan.yielded_for(sequence);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(loser));
  }
}

void ContinuousBatching::admit_waiting(SimTime now, StepPlan& plan) {
  bool first = true;
  while (Sequence* sequence = next_in_seats(now, plan)) {
    const std::int32_t tokens = sequence->known_tokens();
    const bool alone = first && tokens > token_budget_;
    if (!alone && tokens > token_budget_ - plan.total_tokens) {
      return plan.hold_back(*sequence, HeldBack::kTokenBudget);
    }
    if (!can_admit(*sequence)) return plan.hold_back(*sequence, HeldBack::kKvBlocks);
    const bool resumed = sequence->preemptions > 0;
    admit(*sequence, tokens, plan);
    if (!resumed) on_admitted(*sequence);
    if (alone) return;
    first = false;
  }
}

}  // namespace headway
