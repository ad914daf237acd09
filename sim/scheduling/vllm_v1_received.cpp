// vllm-v1 between replicas: sequences that come with the KV of their prompt, and those whose KV goes
// elsewhere (vLLM v0.16.0, v1/core/sched/scheduler.py, WAITING_FOR_REMOTE_KVS and delayed freeing of
// blocks; v1/kv_connector).
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/scheduling/vllm_v1.h"

namespace headway {

Expected VllmV1::expect(Sequence& s) {
  SIM_CHECK(s.group == nullptr && s.output_tokens > 0);
  Expected expected;
  const std::int32_t stored = s.known_tokens() - 1;  // the last token has no KV yet
  expected.never = why_never(s);
  if (expected.never.empty() && never_fits(stored, stored + 1)) {
    expected.never = too_large(stored + 1);
  }
  if (!expected.never.empty() || !waiting_.empty()) return expected;
  kv_.open(s.slot, *s.request, s.sample);
  // Blocks that are cached here need not be sent. (Groups of layers would have to agree on them.)
  const bool plain = kv_.groups() == nullptr;
  const PrefixHit hit = plain ? kv_.lookup(s.slot, s.known_tokens()) : PrefixHit();
  // Nothing is known of the tokens until they are here: no block of theirs is found by others.
  if (!kv_.allocate(s.slot, {stored, 0, 1, 0}, hit)) {
    kv_.close(s.slot);
    return expected;
  }
  s.state = SequenceState::kReceiving;
  s.computed_tokens = stored;
  ++expected_;
  expected.taken = true;
  expected.cached_tokens = hit.tokens;
  return expected;
}

void VllmV1::receive(Sequence& s) {
  SIM_CHECK(s.state == SequenceState::kReceiving);
  s.state = SequenceState::kWaiting;
  s.received = true;
  --expected_;
  received_.push_back(&s);
}

void VllmV1::release(Sequence& s) {
  kv_.free(s.slot);
  kv_.close(s.slot);
}

// They have the blocks for one token more.
void VllmV1::plan_received(StepPlan& plan) {
  while (!received_.empty() && budget_ > 0) {
    const auto next =
        by_priority_ ? std::min_element(received_.begin(), received_.end(), more_urgent)
                     : received_.begin();
    Sequence& s = **next;
    if (!seats_free(s)) return;
    received_.erase(next);
    const KvDemand demand{s.computed_tokens, 1, 0, s.known_tokens()};
    SIM_CHECK(kv_.allocate(s.slot, demand), "a received sequence has its blocks");
    running_.push_back(&s);
    s.state = SequenceState::kRunning;
    s.received = false;
    plan.scheduled.push_back({.sequence = &s,
                              .kind = ScheduledKind::kNew,
                              .computed_before = s.computed_tokens,
                              .num_tokens = 1,
                              .preemptions = s.preemptions});
    --budget_;
  }
}

// Whether it was among those that come, or have come, from elsewhere.
bool VllmV1::leave_received(Sequence& s) {
  if (s.state != SequenceState::kReceiving) return std::erase(received_, &s) > 0;
  --expected_;
  return true;
}

}  // namespace headway
