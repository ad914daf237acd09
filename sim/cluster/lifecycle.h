#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/core/random.h"
#include "sim/core/sim_time.h"
#include "sim/metrics/observer.h"
#include "sim/scenario/lifecycle_options.h"

namespace headway {

enum class ReplicaState : std::uint8_t {
  kOff,       // not paid for
  kStarting,  // weights are being loaded
  kReady,     // takes requests
  kDraining,  // takes none any more, answers those it has
  kFailed,    // and will start again
};

struct LifecyclePool {
  std::int32_t replicas = 1;  // ready at the start
  std::int32_t most = 1;      // that there may be
  SimTime startup;
  bool scales = false;        // somebody calls scale()
};

struct ReplicaChange {
  std::uint32_t replica;
  ReplicaState from, to;
  bool lost = false;          // it failed: all that was in it is gone
};

// In which state each replica is, and when that changes by itself: it knows what time does to them,
// and no requests. Replicas are numbered through the pools, each with `most` of them.
//
//     off -> starting -> ready -> draining -> off       scale(), startup, scale(), emptied()
//     starting, ready -> failed -> starting             a failure; after its down time
//     draining -> off, any -> off                       a failure; one for good
//
// A replica that is off, or failed already, cannot fail. One that drains is taken back before another
// one is started. Paid for is all time from starting until off.
class Lifecycle {
 public:
  Lifecycle(std::vector<LifecyclePool> pools, const LifecycleOptions& options, std::uint64_t seed);

  ReplicaState state(std::uint32_t replica) const { return members_[replica].state; }
  std::uint32_t pool_of(std::uint32_t replica) const { return members_[replica].pool; }
  FleetRecord count(std::uint32_t pool, SimTime now) const;
  // Whether there is a replica that is ready or will be.
  bool may_serve() const;

  // When something changes next by itself; never = as it is.
  SimTime next() const { return timers_.empty() ? SimTime::never() : timers_.top().at; }
  // All that is due by now. Changes are added, in the order they happened.
  void advance(SimTime now, std::vector<ReplicaChange>& changes);
  // The pool is to have so many, not counting those that drain. Of too many those go first that are
  // not ready yet, then those of the highest number.
  void scale(std::uint32_t pool, std::int32_t replicas, SimTime now,
             std::vector<ReplicaChange>& changes);
  // A replica that drains has no requests left.
  void emptied(std::uint32_t replica, SimTime now, std::vector<ReplicaChange>& changes);

  double provisioned_s(std::uint32_t pool, SimTime end) const;
  std::int64_t failures() const { return failures_; }

 private:
  enum class Due : std::uint8_t { kBack, kReady, kFails };  // their order at one instant
  struct Timer {
    SimTime at;
    Due due;
    std::uint32_t replica;
    std::uint64_t generation;  // out of date when it is not the replica's; kAlways = never
    SimTime down;
    bool operator>(const Timer& other) const;
  };
  static constexpr std::uint64_t kAlways = UINT64_MAX;
  struct Member {
    std::uint32_t pool;
    ReplicaState state = ReplicaState::kOff;
    bool gone = false;             // failed for good
    std::uint64_t generation = 0;
    SimTime paid_from;             // unless off
    std::int64_t paid_ns = 0;      // before that
  };

  void move(std::uint32_t replica, ReplicaState to, SimTime now,
            std::vector<ReplicaChange>& changes, bool lost = false);
  void start(std::uint32_t replica, SimTime now, std::vector<ReplicaChange>& changes);
  void fail(std::uint32_t replica, SimTime down, SimTime now, std::vector<ReplicaChange>& changes);
  void await_failure(std::uint32_t replica, SimTime now);
  void await(SimTime at, Due due, std::uint32_t replica, SimTime down = {});

  std::vector<LifecyclePool> pools_;
  std::vector<std::uint32_t> first_;  // replica of each pool, and the end
  std::vector<Member> members_;
  std::optional<RandomFailureOptions> random_;
  std::vector<RandomStream> streams_;  // by replica; none without random failures
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::int64_t failures_ = 0;
};

}  // namespace headway
