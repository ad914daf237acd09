#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/autoscaler.h"
#include "sim/cluster/fleet.h"
#include "sim/cluster/lifecycle.h"
#include "sim/metrics/observer.h"
#include "sim/scenario/scenario.h"

namespace headway {

// What runs a fleet while it serves: failures, start-ups, autoscalers. It decides which replicas are
// in which state and when that changes; the loop does what follows for the requests.
//
// Hears of finished requests where an autoscaler goes by the SLO.
class FleetControl final : public Observer {
 public:
  // `pools`: as many as the fleet has.
  FleetControl(const Scenario& scenario, std::span<const PoolPlan> pools);

  bool hears_steps() const override { return false; }
  void on_finish(const RequestRecord& request) override;
  // Whether it has to be among the observers.
  bool listens() const { return listens_; }

  // Whether anything will change in this run.
  bool changes() const { return changes_; }
  // When to call act() next; never = as it is.
  SimTime next() const;
  // Whether act() will measure: the replicas that take requests are to be caught up with.
  bool looks(SimTime now) const { return next_look_ <= now; }
  // All that is due by now; `at_gateway` requests wait there.
  void act(SimTime now, const Fleet& fleet, std::int64_t at_gateway,
           std::vector<ReplicaChange>& changes);
  // A replica that drains has nothing left in it: act() turns it off.
  void emptied(std::uint32_t replica, SimTime now);

  // Whether a replica is ready or will be.
  bool may_serve() const { return lifecycle_.may_serve(); }
  bool drains(std::uint32_t replica) const {
    return changes_ && lifecycle_.state(replica) == ReplicaState::kDraining;
  }
  std::size_t pools() const { return pools_.size(); }
  FleetRecord count(std::uint32_t pool, SimTime now) const { return lifecycle_.count(pool, now); }
  std::uint32_t pool_of(std::uint32_t replica) const { return lifecycle_.pool_of(replica); }
  void finish(RunOutcome& outcome) const;

 private:
  enum class Metric : std::uint8_t { kUtilisation, kKv, kOutstanding, kQueue, kSlo };
  struct Pool {
    std::optional<Autoscaler> autoscaler;
    Metric metric = Metric::kOutstanding;
    SimTime interval, next_look = SimTime::never();
    std::vector<double> slo_ratios;  // of the requests that have left since the last look
  };
  struct Busy {  // of a replica, at the last look or since it got ready
    SimTime busy, at;
  };

  void look(std::uint32_t pool, SimTime now, const Fleet& fleet, std::int64_t at_gateway,
            std::vector<ReplicaChange>& changes);
  std::optional<double> measure(Pool& pool, std::uint32_t number, SimTime now, const Fleet& fleet,
                                double at_gateway);
  double busy_share(std::uint32_t replica, SimTime now, const Fleet& fleet);
  void plan_looks();

  SloOptions slo_;
  bool changes_, listens_ = false;
  std::vector<Pool> pools_;
  std::vector<std::uint32_t> pool_of_engine_;
  Lifecycle lifecycle_;
  std::vector<Busy> busy_;      // by replica
  std::vector<std::uint32_t> emptied_;
  SimTime emptied_at_ = SimTime::never();
  SimTime next_look_ = SimTime::never();
};

std::vector<LifecyclePool> lifecycle_pools(std::span<const PoolPlan> pools);

}  // namespace headway
