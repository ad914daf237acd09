// sglang between replicas: sequences that come with the KV of their prompt, and those whose KV goes
// elsewhere (SGLang v0.5.5.post3, srt/disaggregation/decode.py and prefill.py).
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/scheduling/sglang.h"

namespace headway {
namespace {

// server_args.py, num_reserved_decode_tokens.
constexpr std::int64_t kReservedDecodeTokens = 512;

}  // namespace

// DecodePreallocQueue: a newcomer finds its prompt's tokens and one more beside what is in reserve
// for the others. (A decode server has no radix cache: nothing of the prompt is looked for here.)
Expected Sglang::expect(Sequence& s) {
  SIM_CHECK(s.group == nullptr && s.output_tokens > 0);
  Expected expected;
  expected.never = why_never(s);
  if (!expected.never.empty() || !waiting_.empty() || cut_ != nullptr) return expected;
  const std::int32_t stored = s.known_tokens() - 1;  // the last token has no KV yet
  const std::int64_t others = running_count_ + expected_ + std::ssize(received_);
  const std::int64_t room = pool_.available_tokens() + pool_.evictable_tokens();
  const std::int64_t page = pool_.page_size();
  const std::int64_t wanted = (stored + 1 + page - 1) / page * page;
  if (room - others * kReservedDecodeTokens < wanted) return expected;
  SIM_CHECK(pool_.make_room(wanted));
  open(s);
  pool_.extend(s.slot, stored);
  s.state = SequenceState::kReceiving;
  s.computed_tokens = stored;
  ++expected_;
  expected.taken = true;
  return expected;
}

void Sglang::receive(Sequence& s) {
  SIM_CHECK(s.state == SequenceState::kReceiving);
  s.state = SequenceState::kWaiting;
  s.received = true;
  --expected_;
  received_.push_back(&s);
}

void Sglang::release(Sequence& s) {
  close(s);
  --kept_;
  running_.full = false;  // it was for want of this KV, if nobody runs
}

// Its whole pages stay in the tree.
void Sglang::close(Sequence& s) {
  pool_.release(s.slot, std::min(s.computed_tokens, s.known_tokens()));
  pool_.close(s.slot);
}

void Sglang::join_received() {
  const std::int32_t seats = max_running_ - (cut_ != nullptr ? 1 : 0);
  while (!received_.empty() && running_.size() < seats) {
    Sequence& s = *received_.front();
    received_.pop_front();
    s.state = SequenceState::kRunning;
    ++running_count_;
    running_.members.push_back(member(s));
  }
}

// Whether it was among those that come, or have come, from elsewhere; its memory is free then.
bool Sglang::leave_received(Sequence& s) {
  if (s.state == SequenceState::kReceiving) {
    --expected_;
  } else if (std::erase(received_, &s) == 0) {
    return false;
  }
  pool_.release(s.slot, 0);
  running_.full = false;
  return true;
}

}  // namespace headway
