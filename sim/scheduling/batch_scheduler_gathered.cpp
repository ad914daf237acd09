// Decoding sequences of the batch schedulers planned together (decode_set.h).
//
// Where the budget or the KV may not be enough they scatter: that step is planned one by one, and
// whoever decodes in it is gathered again.
#include <algorithm>
#include <utility>

#include "sim/core/errors.h"
#include "sim/scheduling/batch_scheduler.h"

namespace headway {

std::size_t BatchScheduler::plan_gathered(std::int64_t token_budget, std::int64_t others,
                                          StepPlan& plan) {
  if (decodes_.empty()) return 0;
  // Another decode takes a block at most, and each finds one free where it wants that.
  std::int64_t blocks = kv_->blocks_next_tick() + others;
  if (decode_needs_free_block()) ++blocks;
  const bool enough_kv = !kv_->grows() || blocks <= kv_->free_blocks();
  if (!enough_kv || decodes_.growing() + others > token_budget) {
    plan.scattered.assign(running_.begin(), running_.begin() + decodes_.size());
    for (Sequence* s : plan.scattered) scatter(*s);
    return 0;
  }
  kv_->tick(1);
  plan.decodes = decodes_.tick();
  plan.total_tokens += plan.decodes.sequences;
  return gathered();
}

// Has a step in flight that samples, and wants a token more after that one.
bool BatchScheduler::may_gather(const Sequence& s) const {
  if (!in_flight(s) || s.computed_tokens != s.known_tokens()) return false;
  // Several answers to one request are not told alike (of beams only one is heard).
  if (s.group != nullptr || s.sample != 0) return false;
  if (side_[s.slot].output_goal - s.output_tokens < 2) return false;
  const std::int32_t room = kv_->room(s.slot);
  return room >= 0 && (!kv_->grows() || room < engine_.block_size);
}

// After a plan. Where running_ is the order of the batch, nobody is gathered past one that is not.
void BatchScheduler::gather(StepPlan& plan) {
  const auto joins = [this](const Sequence* s) { return may_gather(*s); };
  auto next = running_.begin() + decodes_.size();
  const auto end = decodes_by_arrival() ? std::partition(next, running_.end(), joins)
                                        : std::find_if_not(next, running_.end(), joins);
  for (; next != end; ++next) {
    Sequence& s = **next;
    decodes_.join(s, side_[s.slot].output_goal - s.output_tokens - 1, false);
    kv_->gather(s.slot);
    plan.gathered.push_back(&s);
  }
}

void BatchScheduler::scatter(Sequence& s) {
  decodes_.scatter(s);
  kv_->scatter(s.slot);
  if (!std::exchange(side_[s.slot].told, false)) return;
  on_scattered(s);
}

void BatchScheduler::settle() {
  for (std::int64_t i = 0; i < decodes_.size(); ++i) {
    decodes_.settle(*running_[static_cast<std::size_t>(i)]);
  }
}

void BatchScheduler::write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const {
  out.clear();
  const auto decodes =
      std::find_if(plan.scheduled.begin(), plan.scheduled.end(),
                   [](const ScheduledSequence& entry) { return !entry.prefill; });
  out.assign(plan.scheduled.begin(), decodes);
  const auto prompts = std::ssize(out);
  for (const Sequence* s : running_) {
    if (plan.decodes.sequences > 0 && decodes_.takes_part(*s)) out.push_back(decodes_.entry(*s));
  }
  out.insert(out.end(), decodes, plan.scheduled.end());
  if (!decodes_by_arrival()) return;
  std::sort(out.begin() + prompts, out.end(),
            [](const auto& a, const auto& b) { return a.sequence->order < b.sequence->order; });
}

// Those that left since the step was planned are at their end, with one step in flight: their parts
// in it are nobody's any more.
void BatchScheduler::complete_gathered(StepUpdate& update) {
  update.gathered_tokens = decodes_.complete().emitted;
  while (Sequence* s = decodes_.next_finished()) {
    kv_->scatter(s->slot);
    side_[s->slot].told = false;
    on_scattered(*s);
    running_.erase(std::find(running_.begin(), running_.end(), s));
    end_answer(*s, update);
  }
}

}  // namespace headway
