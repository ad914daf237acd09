#include "sim/cluster/fleet.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/hash.h"

namespace headway {

std::vector<PoolPlan> pool_plans(const Scenario& scenario, std::span<const Blueprint> blueprints) {
  const ClusterOptions& cluster = scenario.cluster;
  SIM_CHECK(blueprints.size() == std::max<std::size_t>(cluster.pools.size(), 1), "a blueprint a pool");
  std::vector<PoolPlan> plans;
  for (std::size_t i = 0; i < blueprints.size(); ++i) {
    PoolPlan plan{blueprints[i], cluster.replicas, cluster.lifecycle.startup_s,
                  cluster.lifecycle.autoscaler};
    if (!cluster.pools.empty()) {
      const PoolOptions& pool = cluster.pools[i];
      plan.replicas = pool.replicas;
      plan.startup_s = pool.startup_s.value_or(plan.startup_s);
      plan.autoscaler = pool.autoscaler;
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

Fleet::Fleet(std::vector<PoolPlan> pools, std::span<Observer* const> observers, bool step_by_step,
             bool hands_over)
    : observers_(observers.begin(), observers.end()) {
  for (PoolPlan& plan : pools) add_pool(std::move(plan), step_by_step, hands_over);
  SIM_CHECK(!members_.empty(), "a fleet has a replica");
}

void Fleet::add_pool(PoolPlan plan, bool step_by_step, bool hands_over) {
  Blueprint& b = plan.blueprint;
  b.replica.skip_ahead = !step_by_step && !b.replica.in_step;
  b.replica.seldom_seen = !hands_over && b.data_parallel_size == 1;  // a balancer looks at every step
  b.scheduler.gather_decodes = !step_by_step;
  b.scheduler.counts_blocks = !step_by_step;
  const auto engines = static_cast<std::uint32_t>(b.data_parallel_size);
  const std::uint32_t ranks = b.replica.in_step ? engines : 1;
  const auto pool = static_cast<std::uint32_t>(pools_.size());
  const SimTime front_end = b.replica.host.per_request;
  pools_.push_back({std::move(plan), engines, ranks, engines / ranks, front_end});
  for (std::int32_t i = 0; i < pools_[pool].plan.most(); ++i) {
    const auto replica = static_cast<std::uint32_t>(members_.size());
    members_.push_back({pool, static_cast<std::uint32_t>(engines_.size()),
                        static_cast<std::uint32_t>(seats_.size())});
    members_.back().away.replica = replica;
    balancers_.emplace_back(engines);
    for (std::uint32_t engine = 0; engine < engines; ++engine) {
      const std::uint32_t rank = engine % ranks;
      if (rank == 0) seats_.push_back({{}, replica, static_cast<std::uint32_t>(engines_.size()), engines == 1});
      engines_.push_back({static_cast<std::uint32_t>(seats_.size() - 1), rank});
      past_.emplace_back();
    }
    if (i < pools_[pool].plan.replicas) open(replica);
  }
}

void Fleet::build(std::uint32_t replica) {
  const Member& member = members_[replica];
  const Pool& pool = pools_[member.pool];
  for (std::uint32_t s = 0; s < pool.seats_each; ++s) {
    Seat& seat = seats_[member.first_seat + s];
    std::vector<std::unique_ptr<Replica>> ranks;
    for (std::uint32_t engine = seat.first_engine; ranks.size() < pool.ranks; ++engine) {
      ranks.push_back(
          make_replica(pool.plan.blueprint, engine, observers_, past_[engine].steps, run_room_));
    }
    seat.group.emplace(std::move(ranks), pool.plan.blueprint.cost);
  }
  balancers_[replica] = DpBalancer(pool.engines_each);
}

template <typename Visit>
void Fleet::each_engine(std::uint32_t replica, Visit visit) const {
  const Member& member = members_[replica];
  for (std::uint32_t e = 0; e < pools_[member.pool].engines_each; ++e) {
    const EnginePlace& at = engines_[member.first_engine + e];
    visit(seats_[at.seat].group->rank(at.rank));
  }
}

double Fleet::kv_share(std::uint32_t replica) const {
  std::int64_t held = 0, total = 0;
  each_engine(replica, [&](const Replica& engine) {
    const KvUsage kv = engine.scheduler().kv_usage();
    held += kv.held_blocks;
    total += kv.total_blocks;
  });
  return total > 0 ? static_cast<double>(held) / static_cast<double>(total) : 0.0;
}

std::int64_t Fleet::waiting(std::uint32_t replica) const {
  std::int64_t waiting = 0;
  for (std::uint32_t s = 0; s < seats_of(replica); ++s) {
    waiting += seats_[first_seat(replica) + s].under_way;
  }
  each_engine(replica, [&](const Replica& engine) { waiting += engine.scheduler().waiting(); });
  return waiting;
}

SimTime Fleet::busy(std::uint32_t replica, SimTime now) const {
  std::int64_t busy = 0;
  each_engine(replica, [&](const Replica& engine) { busy += engine.busy(now).ns(); });
  return SimTime::from_ns(busy / pool_of(replica).engines_each);
}

void Fleet::open(std::uint32_t replica) {
  Member& member = members_[replica];
  SIM_CHECK(member.load == kAway);
  if (!seats_[member.first_seat].group) build(replica);
  const auto at = std::lower_bound(
      loads_.begin(), loads_.end(), replica,
      [](const ReplicaLoad& load, std::uint32_t number) { return load.replica < number; });
  member.load = static_cast<std::uint32_t>(at - loads_.begin());
  for (auto later = at; later != loads_.end(); ++later) ++members_[later->replica].load;
  loads_.insert(at, member.away);
}

void Fleet::close(std::uint32_t replica) {
  Member& member = members_[replica];
  if (member.load == kAway) return;
  member.away = loads_[member.load];
  const auto at = loads_.begin() + member.load;
  for (auto later = at + 1; later != loads_.end(); ++later) --members_[later->replica].load;
  loads_.erase(at);
  member.load = kAway;
}

bool Fleet::quiet(std::uint32_t replica) const {
  const Member& member = members_[replica];
  bool idle = (member.load == kAway ? member.away : loads_[member.load]).outstanding == 0;
  each_engine(replica, [&](const Replica& engine) { idle = idle && engine.idle(); });
  return idle;
}

void Fleet::drop(std::uint32_t replica) {
  close(replica);
  forget(replica, true);
}

std::vector<Request> Fleet::lose(std::uint32_t replica) {
  close(replica);
  std::vector<Request> requests;
  for (std::uint32_t s = 0; s < seats_of(replica); ++s) {
    Seat& seat = seats_[first_seat(replica) + s];
    seat.under_way = 0;
    for (std::size_t i = 0; i < seat.group->ranks(); ++i) {
      for (Request& request : seat.group->rank(i).abandon()) requests.push_back(std::move(request));
    }
  }
  forget(replica, false);
  members_[replica].away = {.replica = replica};
  return requests;
}

void Fleet::look_at_kv() {
  for (ReplicaLoad& load : loads_) load.kv_share = kv_share(load.replica);
}

std::uint32_t Fleet::send(const Request& request, std::uint32_t replica, SimTime now) {
  const Member& member = members_[replica];
  ReplicaLoad& load = loads_[member.load];
  ++load.outstanding;
  load.prompt_tokens += request.prompt_tokens;
  const bool several = pools_[member.pool].engines_each > 1;
  const std::size_t rank = several ? balancers_[replica].choose(now) : 0;
  return member.first_engine + static_cast<std::uint32_t>(rank);
}

void Fleet::unload(std::uint32_t engine, std::int32_t prompt_tokens) {
  ReplicaLoad& load = load_of(members_[replica_of(engine)]);
  --load.outstanding;
  load.prompt_tokens -= prompt_tokens;
}

void Fleet::collect_ranks(Seat& seat, SimTime now, std::vector<Departure>& left) {
  left.clear();
  const std::uint32_t first = members_[seat.replica].first_engine;
  for (std::size_t i = 0; i < seat.group->ranks(); ++i) {
    Replica& rank = seat.group->rank(i);
    rank.take_departures(of_rank_);
    left.insert(left.end(), of_rank_.begin(), of_rank_.end());
    balancers_[seat.replica].report(seat.first_engine - first + i, rank.scheduler().waiting(),
                                    rank.scheduler().running(), now);
  }
}

void Fleet::book(std::uint32_t replica, const std::vector<Departure>& left) {
  ReplicaLoad& load = load_of(members_[replica]);
  load.outstanding -= std::ssize(left);
  for (const Departure& d : left) load.prompt_tokens -= d.prompt_tokens;
}

void Fleet::check(std::int64_t inside) const {
  std::vector<std::int64_t> by_replica(members_.size());
  for (const Seat& seat : seats_) {
    std::int64_t& there = by_replica[seat.replica];
    there += seat.under_way;
    for (std::size_t i = 0; seat.group && i < seat.group->ranks(); ++i) {
      there += seat.group->rank(i).outstanding();
      seat.group->rank(i).scheduler().check_kv();
    }
  }
  std::int64_t all = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const ReplicaLoad& load = member.load == kAway ? member.away : loads_[member.load];
    SIM_CHECK(load.outstanding == by_replica[i] && load.prompt_tokens >= load.outstanding);
    SIM_CHECK(load.replica == i);
    all += by_replica[i];
  }
  SIM_CHECK(inside == all, "INV-1: arrived = waiting + running + finished + rejected");
}

namespace {

void add_engine(const Replica& engine, RunOutcome& sums) {
  sums.steps += engine.steps();
  sums.steps_skipped += engine.steps_skipped();
  sums.preemptions += engine.preemptions();
  if (engine.speculation() != nullptr) sums.speculation.add(engine.speculation()->stats());
  sums.sharing.add(engine.sharing());
  const KvUsage kv = engine.scheduler().kv_usage();
  sums.prefix_queries += kv.prefix_queries;
  sums.prefix_hits += kv.prefix_hits;
  sums.host_hits += kv.host_hits;
}

}  // namespace

// Its engines' sums are kept.
void Fleet::forget(std::uint32_t replica, bool drained) {
  for (std::uint32_t s = 0; s < seats_of(replica); ++s) {
    Seat& seat = seats_[first_seat(replica) + s];
    gone_.dummy_steps += seat.group->dummy_steps();
    for (std::size_t i = 0; i < seat.group->ranks(); ++i) {
      const Replica& engine = seat.group->rank(i);
      if (drained) engine.check_drained();
      add_engine(engine, gone_);
      Past& past = past_[seat.first_engine + i];
      past.steps += engine.steps();
      past.timeline = combine64(past.timeline, engine.timeline());
    }
    seat.group.reset();
  }
}

void Fleet::finish(RunOutcome& outcome) const {
  RunOutcome sums = gone_;
  for (const Seat& seat : seats_) {
    if (seat.group) sums.dummy_steps += seat.group->dummy_steps();
    for (std::size_t i = 0; i < pool_of(seat.replica).ranks; ++i) {
      const Past& past = past_[seat.first_engine + i];
      if (past.steps > 0) outcome.fingerprint = combine64(outcome.fingerprint, past.timeline);
      if (!seat.group) continue;
      const Replica& engine = seat.group->rank(i);
      engine.check_drained();
      add_engine(engine, sums);
      outcome.fingerprint = combine64(outcome.fingerprint, engine.timeline());
    }
  }
  outcome.steps = sums.steps;
  outcome.steps_skipped = sums.steps_skipped;
  outcome.dummy_steps = sums.dummy_steps;
  outcome.preemptions = sums.preemptions;
  outcome.speculation = sums.speculation;
  outcome.sharing = sums.sharing;
  outcome.prefix_queries = sums.prefix_queries;
  outcome.prefix_hits = sums.prefix_hits;
  outcome.host_hits = sums.host_hits;
  bool in_step = false;
  for (const Pool& pool : pools_) {
    const Blueprint& b = pool.plan.blueprint;
    in_step = in_step || b.replica.in_step;
    outcome.pools.push_back({pool.plan.replicas, pool.plan.most(), b.data_parallel_size,
                             pool.plan.replicas * outcome.end.seconds(), b.budget});
  }
  if (in_step) {
    outcome.notes.push_back("data-parallel ranks stepped together, one step after the other; " +
                            std::to_string(outcome.dummy_steps) +
                            " dummy batches of ranks without work");
  }
  const Blueprint& first = pools_.front().plan.blueprint;
  outcome.budget = first.budget;
  outcome.cost_description = first.cost->describe();
  outcome.profile_provenance_json = first.profile_provenance_json;
  outcome.host = first.host;
}

}  // namespace headway
