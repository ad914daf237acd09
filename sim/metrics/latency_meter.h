#pragma once

#include <cstdint>

#include "sim/core/sim_time.h"
#include "sim/metrics/observer.h"
#include "sim/metrics/step_facts.h"

namespace headway {

// Splits one request's latency into its parts. The replica calls it at the request's own events
// (scheduled, chunk done, token out, preempted); between them it costs nothing.
//
// The instants passed in never decrease, and each ledger is the replica's at that instant; so the
// parts sum to finish - arrival, to the nanosecond.
class LatencyMeter {
 public:
  // Of `entered` - `arrival`, `queued` was spent at the gateway and `lost` with replicas that failed;
  // the rest is host time spent before the engine saw the request.
  void enter(SimTime arrival, SimTime entered, SimTime queued = {}, SimTime lost = {});
  // In its place: another replica began with it, spent `split` and let go of it at `since`.
  void expect(const LatencySplit& split, SimTime since);
  // Its KV has come.
  void received(SimTime now);
  void scheduled(SimTime now, const TimeLedger& ledger);
  // One of its prefill chunks ran; `own` is the chunk's share of the step's GPU time.
  void prefilled(SimTime now, const TimeLedger& ledger, SimTime own, std::int32_t computed_tokens,
                 bool has_output);
  // A pass over a block of masked tokens begins: what it waits from here on is its answer's.
  void refining(SimTime now, const TimeLedger& ledger);
  void token(SimTime now, const TimeLedger& ledger, bool running);
  void preempted(SimTime now, const TimeLedger& ledger, std::int32_t lost_tokens);
  void finish(SimTime now, const TimeLedger& ledger);

  const LatencySplit& split() const { return split_; }

 private:
  // kComing: between two replicas; kResuming: queued after that.
  enum class Stretch : std::uint8_t { kQueued, kPrefill, kDecode, kLost, kComing, kResuming };

  void close(SimTime now, const TimeLedger& ledger);
  void open(Stretch stretch, SimTime now, const TimeLedger& ledger);
  SimTime& part(LatencyPart p) { return split_[static_cast<std::size_t>(p)]; }

  Stretch stretch_ = Stretch::kQueued;
  SimTime since_;
  TimeLedger ledger_since_;
  SimTime own_prefill_;         // of the open prefill stretch
  std::int32_t lost_tokens_ = 0;
  LatencySplit split_{};
};

}  // namespace headway
