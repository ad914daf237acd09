// Stage 1 of trtllm: who may hold KV in this step.
#include <algorithm>

#include "sim/scheduling/trtllm.h"

namespace headway {

class Trtllm::Walk {
 public:
  Walk(const std::vector<Sequence*>& started, const WaitingSet& waiting)
      : started_(started.begin()),
        started_end_(started.end()),
        waiting_(waiting.begin()),
        waiting_end_(waiting.end()) {}

  // nullptr at the end.
  Sequence* current() const {
    if (started_ == started_end_) return waiting_ == waiting_end_ ? nullptr : *waiting_;
    if (waiting_ == waiting_end_ || MoreUrgent()(*started_, *waiting_)) return *started_;
    return *waiting_;
  }
  void next() {
    if (started_ != started_end_ && current() == *started_) {
      ++started_;
    } else {
      ++waiting_;
    }
  }

 private:
  std::vector<Sequence*>::const_iterator started_, started_end_;
  WaitingSet::const_iterator waiting_, waiting_end_;
};

std::int64_t Trtllm::blocks_to_completion(const Sequence& s) const {
  return ceil_div(longest(s), options_.tokens_per_block) - kv_.blocks_of(s.slot);
}

std::int64_t Trtllm::blocks_of_next_step(const Sequence& s) const {
  const std::int64_t per_block = options_.tokens_per_block;
  if (s.state != SequenceState::kRunning) return ceil_div(prompt_length(s) + drafts(s), per_block);
  if (!generating(s)) return 0;  // the first chunk took the whole prompt's
  const std::int32_t steps = options_.two_steps_look_ahead ? 2 : 1;
  const std::int32_t grows =
      std::min(steps * (1 + drafts(s)), longest(s) - s.computed_tokens);
  return ceil_div(s.computed_tokens + grows, per_block) - ceil_div(s.computed_tokens, per_block);
}

void Trtllm::fit_reserved() {
  std::int64_t free = kv_.free_blocks() - (together_ > 0 ? to_completion_ : 0);
  for (Sequence* s : started_) {
    if (!generating(*s)) continue;
    if (seats_left() <= 0) break;
    fitting_.push_back(s);
    free -= blocks_to_completion(*s);
  }
  const bool generates = together_ > 0 || !fitting_.empty();
  if (options_.policy == CapacityPolicy::kStaticBatch && generates) {
    line_held_by_ = HeldBack::kPolicy;
    return;
  }
  fit_pending(free);
}

void Trtllm::fit_pending(std::int64_t free_blocks) {
  for (Walk walk(started_, waiting_); walk.current() != nullptr; walk.next()) {
    Sequence& s = *walk.current();
    if (generating(s)) continue;
    const std::int64_t need = blocks_to_completion(s);
    if (seats_left() <= 0 || need > free_blocks) {  // nobody overtakes
      note_held();
      break;
    }
    fitting_.push_back(&s);
    free_blocks -= need;
  }
  if (together_ > 0 || !fitting_.empty()) return;
  // Nothing runs, so nothing will ever be freed for the head: what holds KV goes first.
  for (Sequence* s : started_) {
    const std::int64_t need = blocks_to_completion(*s);
    if (need > free_blocks || seats_left() <= 0) continue;
    fitting_.push_back(s);
    free_blocks -= need;
  }
}

std::vector<Sequence*> Trtllm::fit_max_utilization() {
  std::vector<Sequence*> paused;
  std::int64_t free = kv_.free_blocks();
  std::size_t started_end = started_.size();
  const Sequence* end = nullptr;  // the walk stops in front of it
  Walk walk(started_, waiting_);
  while (Sequence* s = walk.current()) {
    if (end != nullptr && !MoreUrgent()(s, end)) break;
    const std::int64_t need = blocks_of_next_step(*s);
    if (need <= free && seats_left() > 0) {
      fitting_.push_back(s);
      free -= need;
      walk.next();
      continue;
    }
    note_held();
    started_end = last_pausable(*s, started_end);
    if (started_end == started_.size()) break;
    paused.push_back(started_[started_end]);
    free += kv_.blocks_of(paused.back()->slot);
    end = paused.back();
  }
  return paused;
}

// fit_max_utilization() where nobody is paused and the gathered all get their blocks; false where
// that is not certain. The walk leaves them out: as long as all that it meets fits besides them, it
// is all the same in which order.
bool Trtllm::fit_max_utilization_with_gathered() {
  std::int64_t free = kv_.free_blocks() - kv_.blocks_next_tick();
  if (free < 0) return false;
  for (Walk walk(started_, waiting_); walk.current() != nullptr; walk.next()) {
    Sequence& s = *walk.current();
    const std::int64_t need = blocks_of_next_step(s);
    // It ends in front of one that stands behind all that could be paused for it.
    if (need > free || seats_left() <= 0) {
      note_held();
      return behind_all(s);
    }
    fitting_.push_back(&s);
    free -= need;
  }
  return true;
}

// Index of the last started request before `end` that does not stand in front of `current` (it may be
// `current`); started_.size() = none.
std::size_t Trtllm::last_pausable(const Sequence& current, std::size_t end) const {
  for (std::size_t i = end; i-- > 0;) {
    if (MoreUrgent()(started_[i], &current)) break;
    if (!in_flight(*started_[i])) return i;
  }
  return started_.size();
}

}  // namespace headway
