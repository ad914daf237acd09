#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/metrics/observer.h"
#include "sim/routing/router.h"
#include "sim/scenario/admission_options.h"
#include "sim/workload/request.h"

namespace headway {

// The door of a fleet: lets a request in while there is a place for it, else has it wait or turns it
// away. Outstanding are those that were let in and have not left.
//
// Those that wait stand in order of priority (smaller first), then of arrival; none passes another. One
// that has waited for max_wait gives up. A gateway holds no clock and calls nobody; its owner does:
//
//     a request arrives                offer(): it is in, it waits, or it is rejected with a reason
//     a request has left               leave(), then
//     that, or a replica gets ready    while (may_admit(loads)) the next is admit(now)'s
//     next_expiry()                    take_expired(now): each is rejected with kGaveUp
//
// and sends what is in to one of open(loads). With no limit set and a replica ready, all of this is a
// comparison or two; otherwise O(log n) of those that wait, and O(replicas) with a limit on each.
class Gateway {
 public:
  enum class Answer : std::uint8_t { kIn, kWaits, kQueueFull, kShed };
  // Finish reasons of requests that were not let in.
  static constexpr const char* kQueueFull = "queue full";
  static constexpr const char* kShed = "shed, too low a priority for the load";
  static constexpr const char* kGaveUp = "gave up waiting at the gateway";
  static constexpr const char* kNoReplicaLeft = "no replica is left";

  explicit Gateway(const AdmissionOptions& options);

  // A request arrives. `loads`: the replicas that take requests now, none while none is ready. It is
  // moved from only when it waits. Where there is a place and nobody waits, it is in.
  Answer offer(Request& request, std::span<const ReplicaLoad> loads, SimTime now);
  // One that was let in comes back, as its replica is gone: outstanding no more, it waits in the place
  // that its priority and arrival give it, with no limit on the queue or on its patience.
  void put_back(Request request);

  // Whether someone waits and there is a place.
  bool may_admit(std::span<const ReplicaLoad> loads) const;
  // The first of those that wait, let in. Its `queued` is the time since its arrival.
  // REQUIRES: may_admit().
  Request admit(SimTime now);
  // One that was let in has left.
  void leave() { --outstanding_; }

  // Those of `loads` with a place left, in the same order. The view holds until the next call.
  std::span<const ReplicaLoad> open(std::span<const ReplicaLoad> loads);

  SimTime next_expiry() const;  // never = none of them will give up
  std::vector<Request> take_expired(SimTime now);  // in the order that they give up

  // All that wait, in their order: nobody will serve them.
  std::vector<Request> dismiss();

  std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size()); }
  std::int64_t peak_waiting() const { return peak_waiting_; }
  std::int64_t outstanding() const { return outstanding_; }

 private:
  struct Place {
    std::int32_t priority = 0;
    SimTime arrival;
    std::uint64_t request = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Waiting {
    Request request;
    SimTime expiry;  // never = does not give up
  };

  bool has_place(std::span<const ReplicaLoad> loads) const;
  bool has_place(const ReplicaLoad& load) const {
    return options_.max_outstanding_per_replica == 0 ||
           load.outstanding < options_.max_outstanding_per_replica;
  }
  void enqueue(Request&& request, SimTime expiry);
  Request take(std::map<Place, Waiting>::iterator place);

  AdmissionOptions options_;
  std::map<Place, Waiting> queue_;
  std::set<std::pair<SimTime, Place>> expiries_;
  std::int64_t outstanding_ = 0, peak_waiting_ = 0;
  std::vector<ReplicaLoad> open_;
};

// The record of a request that leaves now without a replica: what it has waited is queueing, but for
// what it lost with replicas that failed.
RequestRecord turned_away(const Request& request, SimTime lost, SimTime now, const char* reason);

// The finish reason that goes with an answer. REQUIRES: it is a rejection.
const char* reason_of(Gateway::Answer answer);

}  // namespace headway
