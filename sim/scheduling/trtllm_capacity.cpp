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
  std::int64_t free = kv_.free_blocks();
  for (Sequence* s : started_) {
    if (!generating(*s)) continue;
    if (std::ssize(fitting_) >= options_.max_num_requests) break;
    fitting_.push_back(s);
    free -= blocks_to_completion(*s);
  }
  if (options_.policy == CapacityPolicy::kStaticBatch && !fitting_.empty()) return;
  fit_pending(free);
}

void Trtllm::fit_pending(std::int64_t free_blocks) {
  for (Walk walk(started_, waiting_); walk.current() != nullptr; walk.next()) {
    Sequence& s = *walk.current();
    if (generating(s)) continue;
    if (std::ssize(fitting_) >= options_.max_num_requests) break;
    const std::int64_t need = blocks_to_completion(s);
    if (need > free_blocks) break;  // nobody overtakes
    fitting_.push_back(&s);
    free_blocks -= need;
  }
  if (!fitting_.empty()) return;
  // Nothing runs, so nothing will ever be freed for the head: what holds KV goes first.
  for (Sequence* s : started_) {
    const std::int64_t need = blocks_to_completion(*s);
    if (need > free_blocks || std::ssize(fitting_) >= options_.max_num_requests) continue;
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
    if (need <= free && std::ssize(fitting_) < options_.max_num_requests) {
      fitting_.push_back(s);
      free -= need;
      walk.next();
      continue;
    }
    started_end = last_pausable(*s, started_end);
    if (started_end == started_.size()) break;
    paused.push_back(started_[started_end]);
    free += kv_.blocks_of(paused.back()->slot);
    end = paused.back();
  }
  return paused;
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
