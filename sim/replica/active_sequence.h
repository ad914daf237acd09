#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/core/sim_time.h"
#include "sim/metrics/latency_meter.h"
#include "sim/metrics/observer.h"
#include "sim/replica/handover.h"
#include "sim/replica/request_group.h"
#include "sim/scheduling/sequence.h"
#include "sim/workload/request.h"

namespace headway {

// A sequence in a replica, with what its request is told by. One of several sequences of a request
// finds that request with the group's leader.
struct ActiveSequence {
  Request request;
  Sequence sequence;
  LatencyMeter meter;
  SimTime scheduled = SimTime::never(), first_token, last_token, max_itl;
  std::int32_t cached_tokens = 0;
  std::int32_t prefilled_tokens = 0;  // KV at the end of its last prefill chunk
  std::int32_t lost_tokens = 0;       // most KV a preemption has taken from it
  RequestGroup* group = nullptr;      // null = the request's only sequence
  std::unique_ptr<RequestGroup> own_group;  // the leader's
  bool unheard = false;               // a beam whose tokens are no output
  bool received = false;              // began elsewhere, and has yet to run here
  // While the scheduler has it gathered (decode_set.h): the first step as such; its tokens are not
  // told one by one.
  std::uint64_t gathered_from = kNotGathered;
  static constexpr std::uint64_t kNotGathered = UINT64_MAX;

  // As new; for a sequence to come.
  void clear();
  // Takes a request in; it reaches the scheduler's queue now.
  void open(Request&& arriving, std::uint32_t slot, std::uint64_t order, SimTime now, SimTime lost);
  // Takes in one that another replica began; its KV is on its way from now on.
  void expect(Handover& begun, std::uint32_t slot, std::uint64_t order, SimTime now);
  // What another replica needs to go on with it.
  Handover hand_over();
  // A preemption takes its KV.
  void lose_kv(SimTime now, const TimeLedger& ledger);
};

// What the client knows of it; the rest is the caller's.
RequestRecord record_for(const Request& request);
// What its request is announced with when it leaves now.
RequestRecord record_of(const ActiveSequence& a, std::uint32_t replica, SimTime now, bool failed,
                        std::string reason);

}  // namespace headway
