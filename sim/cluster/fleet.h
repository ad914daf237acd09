#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/build.h"
#include "sim/cluster/rank_group.h"
#include "sim/cluster/run_outcome.h"
#include "sim/core/sim_time.h"
#include "sim/metrics/observer.h"
#include "sim/routing/dp_balancer.h"
#include "sim/routing/router.h"
#include "sim/scenario/pools.h"
#include "sim/scenario/scenario.h"

namespace headway {

// Replicas of one kind.
struct PoolPlan {
  Blueprint blueprint;
  std::int32_t replicas = 1;  // at the start
  double startup_s = 0;
  std::optional<AutoscalerOptions> autoscaler = {};

  // That there may be, and that there are numbers for.
  std::int32_t most() const { return most_replicas(replicas, autoscaler); }
};
std::vector<PoolPlan> pool_plans(const Scenario& scenario, std::span<const Blueprint> blueprints);

// All replicas of a run, of all pools, and what each has to do: who is where, and who may be sent
// requests. It knows no event and no policy; the loop calls it (simulation.cpp).
//
// Replicas are numbered through the pools. An engine is a replica, or a data-parallel rank of one; a
// seat holds those that step together: all ranks of a replica, or one engine. Both are numbered in
// the order of replicas. A replica that is gone leaves its numbers to its successor, which begins with
// nothing.
class Fleet {
 public:
  struct Seat {
    std::optional<RankGroup> group;  // none while its replica is not there
    std::uint32_t replica, first_engine;
    bool lone = true;  // the only engine of its replica
    std::int64_t under_way = 0;  // requests sent to it, still in its host's front end
    SimTime wake_at = SimTime::never();  // of the pending wake event
    std::uint64_t wake_generation = 0;
  };
  struct EnginePlace {
    std::uint32_t seat, rank;
  };

  // Each pool's first `replicas` take requests at once. `hands_over`: requests change replicas.
  Fleet(std::vector<PoolPlan> pools, std::span<Observer* const> observers, bool step_by_step,
        bool hands_over);

  std::size_t seats() const { return seats_.size(); }
  Seat& seat(std::uint32_t number) { return seats_[number]; }
  const EnginePlace& place(std::uint32_t engine) const { return engines_[engine]; }
  // The seats of a replica: from first, so many.
  std::uint32_t first_seat(std::uint32_t replica) const { return members_[replica].first_seat; }
  std::uint32_t seats_of(std::uint32_t replica) const { return pool_of(replica).seats_each; }
  std::uint32_t engines_of(std::uint32_t replica) const { return pool_of(replica).engines_each; }

  // The replicas that take requests, in order of number; kv_share as of look_at_kv().
  std::span<const ReplicaLoad> loads() const { return loads_; }
  // KV of the replicas that take requests. REQUIRES: their seats are caught up with.
  void look_at_kv();
  // Share of its KV blocks held; requests that wait in it or on their way to it; time in which its
  // engines had steps in flight, a mean. REQUIRES: the replica is there and caught up with.
  double kv_share(std::uint32_t replica) const;
  std::int64_t waiting(std::uint32_t replica) const;
  SimTime busy(std::uint32_t replica, SimTime now) const;

  // A request goes to the replica; the engine there that takes it (vLLM's balancer between ranks).
  std::uint32_t send(const Request& request, std::uint32_t replica, SimTime now);
  // A request goes on elsewhere, or will not come: the load of the engine's replica falls by it.
  void unload(std::uint32_t engine, std::int32_t prompt_tokens);
  std::uint32_t replica_of(std::uint32_t engine) const { return seats_[engines_[engine].seat].replica; }
  std::size_t engines() const { return engines_.size(); }
  // Host time before it reaches that engine.
  SimTime front_end(std::uint32_t replica) const { return pool_of(replica).front_end; }

  // Who has left the seat since the last call; its replica's load falls by them, and the balancer
  // hears how the engines stand.
  void collect(std::uint32_t number, SimTime now, std::vector<Departure>& left) {
    Seat& seat = seats_[number];
    if (seat.lone) {
      seat.group->rank(0).take_departures(left);
    } else {
      collect_ranks(seat, now, left);
    }
    if (!left.empty()) book(seat.replica, left);
  }

  // The replica takes requests from now on: a new one, unless it is there and drains.
  void open(std::uint32_t replica);
  // It takes none any more.
  void close(std::uint32_t replica);
  // Nothing is left in it: no request, no step in flight.
  bool quiet(std::uint32_t replica) const;
  // It is gone. REQUIRES: quiet().
  void drop(std::uint32_t replica);
  // It is gone with all that was in its engines: the requests, in order of arrival. Those still in its
  // host's front end are the caller's to find. REQUIRES: caught up with.
  std::vector<Request> lose(std::uint32_t replica);

  // INV-1 and INV-2, of a run in which `inside` requests have arrived and not left; walks everything.
  void check(std::int64_t inside) const;
  // Sums of all engines; nothing may be left in them.
  void finish(RunOutcome& outcome) const;

 private:
  struct Pool {
    PoolPlan plan;
    std::uint32_t engines_each, ranks;  // of a replica; of a seat
    std::uint32_t seats_each;           // of a replica
    SimTime front_end;
  };
  struct Member {  // a replica
    std::uint32_t pool, first_engine, first_seat;
    std::uint32_t load = kAway;  // index into loads_
    ReplicaLoad away = {};       // while it is not there
  };
  static constexpr std::uint32_t kAway = UINT32_MAX;
  struct Past {  // of an engine's forerunners
    std::uint64_t steps = 0, timeline = 0;
  };

  void add_pool(PoolPlan plan, bool step_by_step, bool hands_over);
  void collect_ranks(Seat& seat, SimTime now, std::vector<Departure>& left);
  void book(std::uint32_t replica, const std::vector<Departure>& left);
  void build(std::uint32_t replica);
  void forget(std::uint32_t replica, bool drained);
  template <typename Visit>
  void each_engine(std::uint32_t replica, Visit visit) const;
  const Pool& pool_of(std::uint32_t replica) const { return pools_[members_[replica].pool]; }
  ReplicaLoad& load_of(Member& member) {
    return member.load == kAway ? member.away : loads_[member.load];
  }

  std::vector<Observer*> observers_;
  std::shared_ptr<RunRoom> run_room_ = std::make_shared<RunRoom>();
  std::vector<Pool> pools_;
  std::vector<Member> members_;
  std::vector<Seat> seats_;
  std::vector<EnginePlace> engines_;
  std::vector<ReplicaLoad> loads_;
  std::vector<DpBalancer> balancers_;  // by replica; of no account without data parallelism
  std::vector<Past> past_;             // by engine
  RunOutcome gone_;                    // sums of engines that are not there any more
  std::vector<Departure> of_rank_;
};

}  // namespace headway
