#include "sim/metrics/latency_meter.h"

#include <algorithm>

namespace headway {

void LatencyMeter::enter(SimTime arrival, SimTime entered, SimTime queued, SimTime lost) {
  part(LatencyPart::kQueue) += queued;
  part(LatencyPart::kRetry) += lost;
  part(LatencyPart::kHost) += entered - arrival - queued - lost;
  open(Stretch::kQueued, entered, {});
}

void LatencyMeter::expect(const LatencySplit& split, SimTime since) {
  split_ = split;
  open(Stretch::kComing, since, {});
}

void LatencyMeter::received(SimTime now) {
  close(now, {});
  open(Stretch::kResuming, now, {});
}

void LatencyMeter::scheduled(SimTime now, const TimeLedger& ledger) {
  // Else a resumed sequence, which is still making up what it lost.
  if (stretch_ != Stretch::kQueued && stretch_ != Stretch::kResuming) return;
  const bool begins = stretch_ == Stretch::kQueued;
  close(now, ledger);
  open(begins ? Stretch::kPrefill : Stretch::kDecode, now, ledger);
}

void LatencyMeter::prefilled(SimTime now, const TimeLedger& ledger, SimTime own,
                             std::int32_t computed_tokens, bool has_output) {
  if (stretch_ == Stretch::kPrefill) {
    own_prefill_ += own;
  } else if (stretch_ == Stretch::kLost && !has_output && computed_tokens >= lost_tokens_) {
    close(now, ledger);
    open(Stretch::kPrefill, now, ledger);
  }
}

void LatencyMeter::refining(SimTime now, const TimeLedger& ledger) {
  if (stretch_ == Stretch::kDecode) return;
  close(now, ledger);
  open(Stretch::kDecode, now, ledger);
}

void LatencyMeter::token(SimTime now, const TimeLedger& ledger, bool running) {
  // A token that was in flight when its sequence was preempted does not end the loss.
  if (stretch_ == Stretch::kDecode || (stretch_ == Stretch::kLost && !running)) return;
  close(now, ledger);
  open(Stretch::kDecode, now, ledger);
}

void LatencyMeter::preempted(SimTime now, const TimeLedger& ledger, std::int32_t lost_tokens) {
  if (stretch_ == Stretch::kLost) {
    lost_tokens_ = std::max(lost_tokens_, lost_tokens);
    return;
  }
  close(now, ledger);
  open(Stretch::kLost, now, ledger);
  lost_tokens_ = lost_tokens;
}

void LatencyMeter::finish(SimTime now, const TimeLedger& ledger) { close(now, ledger); }

void LatencyMeter::open(Stretch stretch, SimTime now, const TimeLedger& ledger) {
  stretch_ = stretch;
  since_ = now;
  ledger_since_ = ledger;
  own_prefill_ = SimTime();
}

void LatencyMeter::close(SimTime now, const TimeLedger& ledger) {
  const SimTime spent = now - since_;
  switch (stretch_) {
    case Stretch::kQueued:
    case Stretch::kResuming:
      part(LatencyPart::kQueue) += spent;
      break;
    case Stretch::kPrefill: {
      const SimTime host = std::min(spent, ledger.host - ledger_since_.host);
      const SimTime own = std::min(spent - host, own_prefill_);
      part(LatencyPart::kHost) += host;
      part(LatencyPart::kPrefill) += own;
      part(LatencyPart::kInterference) += spent - host - own;
      break;
    }
    case Stretch::kDecode: {
      // The ledger moves with the clock, so the three differences make up `spent`.
      const SimTime interference = ledger.interference - ledger_since_.interference;
      const SimTime host = ledger.host - ledger_since_.host;
      part(LatencyPart::kInterference) += interference;
      part(LatencyPart::kHost) += host;
      part(LatencyPart::kDecode) += spent - interference - host;
      break;
    }
    case Stretch::kComing:
      part(LatencyPart::kTransfer) += spent;
      break;
    case Stretch::kLost:
      part(LatencyPart::kPreemption) += spent;
      break;
  }
}

}  // namespace headway
