#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "sim/scheduling/step_plan.h"

namespace headway {

// Sequences that decode: each gets one token in every step until its answer is complete. A scheduler
// that gathers them here plans a step for all of them in constant time: the set counts its steps
// ("ticks"), and what a member has computed and emitted follows from the tick at which it joined.
//
// A member's own counts (Sequence::computed_tokens, output_tokens, placeholders) stand still while it
// is gathered; settle() brings them up to date, and so does every way of leaving.
//
// With steps in flight a tick is planned before the one before it has completed. A member whose limit
// the scheduler foresees takes no part in ticks after its last; one that stops by itself takes part in
// those that were planned before its last token was known, in vain.
class DecodeSet {
 public:
  // `asynchronous`: tokens that planned ticks will sample are counted as placeholders.
  explicit DecodeSet(bool asynchronous) : asynchronous_(asynchronous) {}

  bool empty() const { return size_ == 0; }
  std::int64_t size() const { return size_; }  // members, those that only await results included
  std::int64_t growing() const { return growing_; }    // that take part in the next tick
  bool contains(const Sequence& s) const {
    return s.slot < members_.size() && members_[s.slot].sequence == &s;
  }
  std::int64_t planned() const { return planned_; }      // ticks so far
  std::int64_t completed() const { return completed_; }  // of them
  // All outstanding ticks are of the same members, all of those take part in the next, and nobody's last
  // token is in flight.
  bool steady() const {
    return completed_ >= changed_ && size_ == growing_ && draining_.empty();
  }
  // The tick with the next member's last token.
  std::int64_t next_finish() const { return finishes_.top().tick; }

  // So many more ticks complete without a member's last token.
  std::int64_t quiet_ticks() const {
    if (!draining_.empty()) return draining_.front().tick - completed_ - 1;
    return finishes_.empty() ? kForever : finishes_.top().tick - completed_ - 1;
  }
  static constexpr std::int64_t kForever = std::int64_t{1} << 40;

  // From the next tick on. `tokens_left`: that its ticks may yield, >= 1. REQUIRES: in the order in
  // which the members are to be scheduled; not more than two ticks outstanding.
  void join(Sequence& sequence, std::int64_t tokens_left, bool foreseen);
  // Those that a further tick would give nothing any more (their last token is in flight) stop
  // growing: calls stop(sequence) for each.
  template <typename Stop>
  void drain(Stop stop);
  // Plans the next tick. REQUIRES: growing() > 0, drained.
  GatheredDecodes tick();
  // The oldest tick has completed. Members that took part and are still here: `emitted`.
  struct Completed {
    std::int64_t tick = 0;
    std::int64_t emitted = 0;
    std::span<const ScheduledSequence> scattered;  // took part and left since, in order
  };
  Completed complete();
  // The next member whose last token was in the tick just completed, in order; it has left. Null: no
  // more.
  Sequence* next_finished();
  // All at once, `ticks` times: the oldest has completed and a new one is planned. REQUIRES: steady(),
  // and no member finishes or stops growing.
  void repeat(std::int64_t ticks);

  void settle(const Sequence& s) { settle(members_[s.slot]); }
  // The sequence leaves with its counts up to date. Outstanding ticks that it takes part in become
  // entries of its own (Completed::scattered).
  void scatter(Sequence& sequence);
  // Whether it takes part in the newest tick, and how, as an entry of a plan.
  bool takes_part(const Sequence& s) const {
    return contains(s) && members_[s.slot].growing && members_[s.slot].joined < planned_;
  }
  ScheduledSequence entry(const Sequence& sequence) const;

 private:
  struct Member {
    Sequence* sequence = nullptr;
    std::int64_t joined = 0;             // ticks planned before its first
    std::int64_t finish = 0;             // the tick with its last token
    std::int64_t length = 0;             // KV tokens after tick n: length + n
    std::int64_t counted_planned = 0;    // ticks that its own counts contain
    std::int64_t counted_completed = 0;
    bool foreseen = false;
    bool growing = false;
    bool queued = false;                 // its entry is in finishes_
  };
  struct Finish {
    std::int64_t tick;
    std::uint64_t seat;  // order of joining
    std::uint32_t slot;
    bool operator>(const Finish& o) const { return tick != o.tick ? tick > o.tick : seat > o.seat; }
  };
  struct Length {
    std::int64_t length;
    std::uint64_t seat;
    std::uint32_t slot;
    bool operator<(const Length& o) const { return length < o.length; }
  };
  struct Tick {
    std::int64_t sequences = 0;
    std::int64_t left = 0;  // of them, finished or scattered since
    std::vector<ScheduledSequence> scattered;
  };

  Tick& outstanding(std::int64_t tick) { return ticks_[static_cast<std::size_t>(tick % 2)]; }
  std::int64_t last_tick(const Member& m) const;  // that it takes part in, of those planned
  ScheduledSequence entry(const Member& m, std::int64_t tick) const;
  void settle(Member& m);
  void stop_growing(Member& m);
  void remove(Member& m);
  bool take_finish(Finish& finish);
  void skip_stale_finishes();
  void add_length(const Length& length);
  std::int64_t longest();

  bool asynchronous_;
  std::vector<Member> members_;  // by slot
  std::vector<std::uint64_t> seats_;  // by slot; tells a stale entry of the queues below
  std::uint64_t next_seat_ = 0;
  std::int64_t size_ = 0, growing_ = 0;
  std::int64_t length_sum_ = 0;  // of those that grow
  std::int64_t planned_ = 0, completed_ = 0;
  std::int64_t changed_ = 0;     // ticks planned when the growing members last changed
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> finishes_;
  std::int64_t stale_finishes_ = 0;  // in it, of those that have left
  std::int64_t longest_ = 0;         // of those that grow
  bool longest_known_ = false;
  std::vector<Length> lengths_;  // a heap, longest on top; old entries are dropped when met
  std::vector<Finish> draining_;     // from finishes_: last token in flight; in order
  std::array<Tick, 2> ticks_;
};

template <typename Stop>
void DecodeSet::drain(Stop stop) {
  while (!finishes_.empty() && finishes_.top().tick <= planned_) {
    Finish f;
    if (!take_finish(f)) continue;
    draining_.push_back(f);
    Member& m = members_[f.slot];
    if (!m.foreseen) continue;
    stop(*m.sequence);
    stop_growing(m);
  }
  skip_stale_finishes();
}

}  // namespace headway
