#include "sim/replica/active_sequence.h"

#include <algorithm>
#include <utility>

namespace headway {

void ActiveSequence::clear() {
  sequence = Sequence();
  meter = LatencyMeter();
  scheduled = SimTime::never();
  first_token = last_token = max_itl = SimTime();
  cached_tokens = prefilled_tokens = lost_tokens = 0;
  group = nullptr;
  own_group.reset();
  unheard = received = false;
  gathered_from = kNotGathered;
}

void ActiveSequence::open(Request&& arriving, std::uint32_t slot, std::uint64_t order, SimTime now,
                          SimTime lost) {
  request = std::move(arriving);
  sequence = make_sequence(request, slot, order, now);
  meter.enter(request.arrival, now, request.queued, lost);
}

void ActiveSequence::expect(Handover& begun, std::uint32_t slot, std::uint64_t order,
                            SimTime now) {
  request = std::move(begun.request);
  sequence = make_sequence(request, slot, order, now);
  sequence.output_tokens = begun.output_tokens;
  sequence.preemptions = begun.preemptions;
  meter.expect(begun.split, begun.last_token);
  scheduled = begun.scheduled;
  first_token = begun.first_token;
  last_token = begun.last_token;
  max_itl = begun.max_itl;
  cached_tokens = begun.cached_tokens;
  prefilled_tokens = sequence.prompt_tokens;
  received = true;
}

Handover ActiveSequence::hand_over() {
  Handover begun{.request = std::move(request),
                 .scheduled = scheduled,
                 .first_token = first_token,
                 .last_token = last_token,
                 .max_itl = max_itl,
                 .split = meter.split(),
                 .output_tokens = sequence.output_tokens,
                 .cached_tokens = cached_tokens,
                 .preemptions = sequence.preemptions,
                 .slot = sequence.slot};
  return begun;
}

void ActiveSequence::lose_kv(SimTime now, const TimeLedger& ledger) {
  meter.preempted(now, ledger, prefilled_tokens);
  // The newest token has no KV yet, and a prompt that was cut short had no more than its chunks.
  const std::int32_t computed =
      std::min(prefilled_tokens + sequence.output_tokens, sequence.known_tokens() - 1);
  lost_tokens = std::max(lost_tokens, computed);
}

RequestRecord record_for(const Request& request) {
  RequestRecord record;
  record.id = request.id;
  record.session_id = request.session_id;
  record.tenant = request.tenant;
  record.priority = request.priority;
  record.arrival = request.arrival;
  record.held = request.held;
  record.prompt_tokens = request.prompt_tokens;
  return record;
}

RequestRecord record_of(const ActiveSequence& a, std::uint32_t replica, SimTime now, bool failed,
                        std::string reason) {
  RequestRecord record = record_for(*a.sequence.request);
  record.scheduled = failed && a.scheduled == SimTime::never() ? now : a.scheduled;
  record.first_token = failed ? now : a.first_token;
  record.finish = now;
  record.output_tokens = a.sequence.output_tokens;
  record.cached_tokens = a.cached_tokens;
  record.preemptions = a.sequence.preemptions;
  record.replica = replica;
  record.max_itl = a.max_itl;
  record.split = a.meter.split();
  if (failed) record.failed = true;  // else as it was made: it is read at once (core/in_place.h)
  record.finish_reason = std::move(reason);
  return record;
}

}  // namespace headway
