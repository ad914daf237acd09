#include "sim/scheduling/decode_set.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {

void DecodeSet::join(Sequence& s, std::int64_t tokens_left, bool foreseen) {
  SIM_CHECK(tokens_left >= 1);
  if (s.slot >= members_.size()) {
    members_.resize(s.slot + 1);
    seats_.resize(s.slot + 1, 0);
  }
  Member& m = members_[s.slot];
  SIM_CHECK(m.sequence == nullptr);
  m = {.sequence = &s,
       .joined = planned_,
       .finish = planned_ + tokens_left,
       .length = s.computed_tokens - planned_,
       .counted_planned = planned_,
       .counted_completed = planned_,
       .foreseen = foreseen,
       .growing = true,
       .queued = true};
  seats_[s.slot] = ++next_seat_;
  finishes_.push({m.finish, next_seat_, s.slot});
  ++size_;
  add_length({m.length, next_seat_, s.slot});
  length_sum_ += m.length;
  ++growing_;
  changed_ = planned_;
}

GatheredDecodes DecodeSet::tick() {
  SIM_CHECK(growing_ > 0 && planned_ - completed_ < 2);
  ++planned_;
  Tick& tick = outstanding(planned_);
  tick.sequences = growing_;
  tick.left = 0;
  tick.scattered.clear();
  return {.sequences = static_cast<std::int32_t>(growing_),
          .kv_tokens = length_sum_ + growing_ * planned_,
          .kv_max = static_cast<std::int32_t>(longest() + planned_)};
}

void DecodeSet::add_length(const Length& length) {
  longest_ = std::max(longest_, length.length);  // where it is known
  if (lengths_.size() > 2 * static_cast<std::size_t>(size_) + 64) {
    std::erase_if(lengths_, [&](const Length& l) { return seats_[l.slot] != l.seat; });
    std::make_heap(lengths_.begin(), lengths_.end());
  }
  lengths_.push_back(length);
  std::push_heap(lengths_.begin(), lengths_.end());
}

// REQUIRES: growing() > 0.
std::int64_t DecodeSet::longest() {
  while (!longest_known_) {
    const Length& top = lengths_.front();
    if (seats_[top.slot] == top.seat && members_[top.slot].growing) {
      longest_ = top.length;
      longest_known_ = true;
    } else {
      std::pop_heap(lengths_.begin(), lengths_.end());
      lengths_.pop_back();
    }
  }
  return longest_;
}

DecodeSet::Completed DecodeSet::complete() {
  SIM_CHECK(completed_ < planned_);
  Tick& tick = outstanding(++completed_);
  while (!finishes_.empty() && finishes_.top().tick <= completed_) {
    Finish f;
    if (take_finish(f)) draining_.push_back(f);
  }
  skip_stale_finishes();
  // They left one by one, from the back as a rule.
  std::sort(tick.scattered.begin(), tick.scattered.end(),
            [&](const ScheduledSequence& a, const ScheduledSequence& b) { return a.place < b.place; });
  return {completed_, tick.sequences - tick.left, tick.scattered};
}

Sequence* DecodeSet::next_finished() {
  while (!draining_.empty() && draining_.front().tick <= completed_) {
    const Finish f = draining_.front();
    draining_.erase(draining_.begin());
    if (seats_[f.slot] != f.seat) continue;
    Member& m = members_[f.slot];
    settle(m);
    Sequence* finished = m.sequence;
    for (std::int64_t t = completed_ + 1; t <= last_tick(m); ++t) ++outstanding(t).left;
    remove(m);
    return finished;
  }
  return nullptr;
}

void DecodeSet::repeat(std::int64_t ticks) {
  SIM_CHECK(steady() && planned_ + ticks <= next_finish());
  planned_ += ticks;
  completed_ += ticks;
  for (std::int64_t t = completed_ + 1; t <= planned_; ++t) {
    outstanding(t).sequences = growing_;
    outstanding(t).left = 0;
    outstanding(t).scattered.clear();
  }
}

std::int64_t DecodeSet::last_tick(const Member& m) const {
  return m.foreseen ? std::min(planned_, m.finish) : planned_;
}

void DecodeSet::settle(Member& m) {
  Sequence& s = *m.sequence;
  const std::int64_t planned = last_tick(m);
  const std::int64_t completed = std::max(m.joined, std::min(completed_, m.finish));
  const auto computed = static_cast<std::int32_t>(planned - m.counted_planned);
  const auto emitted = static_cast<std::int32_t>(completed - m.counted_completed);
  s.computed_tokens += computed;
  s.output_tokens += emitted;
  if (asynchronous_) s.placeholders += computed - emitted;
  m.counted_planned = planned;
  m.counted_completed = completed;
}

ScheduledSequence DecodeSet::entry(const Member& m, std::int64_t tick) const {
  return {.sequence = m.sequence,
          .kind = ScheduledKind::kRunning,
          .computed_before = static_cast<std::int32_t>(m.length + tick - 1),
          .num_tokens = 1,
          .samples = true,
          .preemptions = m.sequence->preemptions,
          .place = seats_[m.sequence->slot]};
}

ScheduledSequence DecodeSet::entry(const Sequence& s) const {
  return entry(members_[s.slot], planned_);
}

void DecodeSet::scatter(Sequence& s) {
  Member& m = members_[s.slot];
  settle(m);
  for (std::int64_t t = std::max(completed_, m.joined) + 1; t <= last_tick(m); ++t) {
    ++outstanding(t).left;
    outstanding(t).scattered.push_back(entry(m, t));
  }
  remove(m);
  skip_stale_finishes();
}

void DecodeSet::stop_growing(Member& m) {
  if (!m.growing) return;
  m.growing = false;
  --growing_;
  length_sum_ -= m.length;
  if (m.length == longest_) longest_known_ = false;
  changed_ = planned_;
}

void DecodeSet::remove(Member& m) {
  stop_growing(m);
  if (m.queued) ++stale_finishes_;
  seats_[m.sequence->slot] = 0;
  m.sequence = nullptr;
  --size_;
}

// False: it was of one that has left.
bool DecodeSet::take_finish(Finish& finish) {
  finish = finishes_.top();
  finishes_.pop();
  const bool stale = seats_[finish.slot] != finish.seat;
  if (stale) {
    --stale_finishes_;
  } else {
    members_[finish.slot].queued = false;
  }
  return !stale;
}

// Keeps next_finish() true.
void DecodeSet::skip_stale_finishes() {
  while (stale_finishes_ > 0 && seats_[finishes_.top().slot] != finishes_.top().seat) {
    finishes_.pop();
    --stale_finishes_;
  }
}

}  // namespace headway
