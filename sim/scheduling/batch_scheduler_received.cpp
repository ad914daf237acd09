// Batch schedulers between replicas: sequences that come with the KV of their prompt, and those whose
// KV goes elsewhere. None of their engines did this; the rule is the one of vllm-v1.
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/scheduling/batch_scheduler.h"

namespace headway {

Expected BatchScheduler::expect(Sequence& s) {
  SIM_CHECK(s.group == nullptr && s.output_tokens > 0);
  Expected expected;
  expected.never = why_never(s);
  const bool line = waiting_count_ > expected_ + std::ssize(received_);
  if (!expected.never.empty() || line || !can_admit(s)) return expected;
  if (s.slot >= side_.size()) side_.resize(s.slot + 1);
  side_[s.slot] = {};
  kv_->admit(s.slot, demand(s));
  s.state = SequenceState::kReceiving;
  s.computed_tokens = s.known_tokens() - 1;  // the last token has no KV yet
  ++expected_;
  ++waiting_count_;
  expected.taken = true;
  return expected;
}

void BatchScheduler::receive(Sequence& s) {
  SIM_CHECK(s.state == SequenceState::kReceiving);
  s.state = SequenceState::kWaiting;
  s.received = true;
  --expected_;
  SIM_CHECK(kv_->store(s.slot, s.computed_tokens), "a received sequence has its memory");
  received_.push_back(&s);
}

void BatchScheduler::release(Sequence& s) {
  kv_->release(s.slot);
  --kept_;
}

void BatchScheduler::join_received() {
  const auto seats = std::max<std::int64_t>(0, engine_.max_num_seqs - running());
  const auto last = received_.begin() + std::min(seats, std::ssize(received_));
  for (auto next = received_.begin(); next != last; ++next) {
    Sequence& s = **next;
    s.state = SequenceState::kRunning;
    side_[s.slot].prefill_target = s.computed_tokens;
    side_[s.slot].output_goal = output_goal(s);
    running_.push_back(&s);
    --waiting_count_;
  }
  received_.erase(received_.begin(), last);
}

// Whether it was among those that come, or have come, from elsewhere; its memory is free then.
bool BatchScheduler::leave_received(Sequence& s) {
  if (s.state == SequenceState::kReceiving) {
    --expected_;
  } else if (std::erase(received_, &s) == 0) {
    return false;
  }
  kv_->release(s.slot);
  return true;
}

}  // namespace headway
