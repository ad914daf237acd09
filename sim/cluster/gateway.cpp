#include "sim/cluster/gateway.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/replica/active_sequence.h"

namespace headway {

Gateway::Gateway(const AdmissionOptions& options) : options_(options) {}

Gateway::Answer Gateway::offer(Request& request, std::span<const ReplicaLoad> loads, SimTime now) {
  if (queue_.empty() && has_place(loads)) {
    ++outstanding_;
    return Answer::kIn;
  }
  if (options_.shed_priority_above && request.priority > *options_.shed_priority_above) {
    return Answer::kShed;
  }
  if (options_.max_queue && waiting() >= *options_.max_queue) return Answer::kQueueFull;
  const bool patient = std::isinf(options_.max_wait_s);
  enqueue(std::move(request),
          patient ? SimTime::never() : now + SimTime::from_seconds(options_.max_wait_s));
  return Answer::kWaits;
}

void Gateway::put_back(Request request) {
  leave();
  enqueue(std::move(request), SimTime::never());
}

bool Gateway::may_admit(std::span<const ReplicaLoad> loads) const {
  return !queue_.empty() && has_place(loads);
}

Request Gateway::admit(SimTime now) {
  SIM_CHECK(!queue_.empty(), "nobody waits at the gateway");
  ++outstanding_;
  Request request = take(queue_.begin());
  request.queued = now - request.arrival;
  return request;
}

std::span<const ReplicaLoad> Gateway::open(std::span<const ReplicaLoad> loads) {
  if (options_.max_outstanding_per_replica == 0) return loads;
  open_.clear();
  for (const ReplicaLoad& load : loads) {
    if (has_place(load)) open_.push_back(load);
  }
  return open_;
}

SimTime Gateway::next_expiry() const {
  return expiries_.empty() ? SimTime::never() : expiries_.begin()->first;
}

std::vector<Request> Gateway::take_expired(SimTime now) {
  std::vector<Request> expired;
  while (next_expiry() <= now && !expiries_.empty()) {
    expired.push_back(take(queue_.find(expiries_.begin()->second)));
  }
  return expired;
}

std::vector<Request> Gateway::dismiss() {
  std::vector<Request> all;
  while (!queue_.empty()) all.push_back(take(queue_.begin()));
  return all;
}

bool Gateway::has_place(std::span<const ReplicaLoad> loads) const {
  if (options_.max_outstanding > 0 && outstanding_ >= options_.max_outstanding) return false;
  if (options_.max_outstanding_per_replica == 0) return !loads.empty();
  return std::any_of(loads.begin(), loads.end(),
                     [this](const ReplicaLoad& load) { return has_place(load); });
}

void Gateway::enqueue(Request&& request, SimTime expiry) {
  const Place place{request.priority, request.arrival, request.id};
  if (expiry != SimTime::never()) expiries_.emplace(expiry, place);
  const bool added = queue_.emplace(place, Waiting{std::move(request), expiry}).second;
  SIM_CHECK(added, "a request waits twice");
  peak_waiting_ = std::max(peak_waiting_, waiting());
}

Request Gateway::take(std::map<Place, Waiting>::iterator place) {
  SIM_CHECK(place != queue_.end(), "a request gives up that does not wait");
  if (place->second.expiry != SimTime::never()) expiries_.erase({place->second.expiry, place->first});
  Request request = std::move(place->second.request);
  queue_.erase(place);
  return request;
}

RequestRecord turned_away(const Request& request, SimTime lost, SimTime now, const char* reason) {
  RequestRecord record = record_for(request);
  record.scheduled = record.first_token = record.finish = now;
  record.replica = kNoReplica;
  record.split[static_cast<std::size_t>(LatencyPart::kRetry)] = lost;
  record.split[static_cast<std::size_t>(LatencyPart::kQueue)] = now - request.arrival - lost;
  record.failed = true;
  record.finish_reason = reason;
  return record;
}

const char* reason_of(Gateway::Answer answer) {
  SIM_CHECK(answer == Gateway::Answer::kQueueFull || answer == Gateway::Answer::kShed);
  return answer == Gateway::Answer::kShed ? Gateway::kShed : Gateway::kQueueFull;
}

}  // namespace headway
