// Requests that begin in one replica and go on in another: the prompt's side and the answer's.
#include <algorithm>
#include <utility>

#include "sim/core/errors.h"
#include "sim/replica/replica.h"

namespace headway {

// The engine is told that one token ends it, as the proxies of vLLM and SGLang do it.
void Replica::submit_prompt(Request&& request, SimTime now, SimTime lost) {
  SIM_CHECK(sequences_of(request) == 1, "the samples of a prompt stay in one replica");
  ActiveSequence* a = take_in(std::move(request), now, lost);
  if (a == nullptr) return;
  a->sequence.keeps_kv = true;
  a->sequence.max_tokens = a->sequence.output_target = 1;
  scheduler_->add(a->sequence);
}

// Instead of an end. REQUIRES: the scheduler has let go of it, but for its KV.
void Replica::hand_over(ActiveSequence& a, SimTime now) {
  SimTime sum;
  for (SimTime p : a.meter.split()) sum += p;
  SIM_CHECK(sum == now - a.request.arrival && a.last_token == now, "INV-3: a prompt's parts");
  ++departed_;
  ++keeping_;
  if (tells_facts()) tell_left(a.request, now);
  handovers_.push_back(a.hand_over());
}

void Replica::release_kv(std::uint32_t slot) {
  SIM_CHECK(!run_.active, "KV is released within a run of steps");
  scheduler_->release(slots_[slot]->sequence);
  --keeping_;
  leaving_slots_.push_back({slot, steps_ + in_flight_.size()});
}

Replica::Admission Replica::expect(Handover& begun, SimTime now) {
  SIM_CHECK(!run_.active, "a request is expected within a run of steps");
  const std::uint32_t slot = take_slot();
  ActiveSequence& a = *slots_[slot];
  a.expect(begun, slot, order_, now);
  Expected expected;
  if (too_long(a.sequence)) {
    expected.never = too_long_text(a.sequence);
  } else {
    expected = scheduler_->expect(a.sequence);
  }
  if (!expected.taken && expected.never.empty()) {
    begun.request = std::move(a.request);
    free_slots_.push_back(slot);
    return {Admission::Verdict::kNoRoom};
  }
  ++order_;
  ++submitted_;
  ++sequences_;
  if (!expected.taken) {
    depart(a, now, true, std::move(expected.never));
    return {Admission::Verdict::kRefused};
  }
  ++coming_;
  return {Admission::Verdict::kTaken, slot, expected.cached_tokens};
}

void Replica::receive(std::uint32_t slot, SimTime now) {
  SIM_CHECK(!run_.active, "KV is received within a run of steps");
  ActiveSequence& a = *slots_[slot];
  --coming_;
  a.meter.received(now);
  if (tells_facts()) tell_received(a.request, now);
  scheduler_->receive(a.sequence);
}

}  // namespace headway
