#include "sim/cluster/simulation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sim/cluster/build.h"
#include "sim/cluster/events.h"
#include "sim/cluster/rank_group.h"
#include "sim/core/earliest.h"
#include "sim/core/errors.h"
#include "sim/core/event_queue.h"
#include "sim/core/hash.h"
#include "sim/routing/dp_balancer.h"
#include "sim/routing/router.h"
#include "sim/workload/client.h"
#include "sim/workload/read_ahead.h"
#include "sim/workload/request_source.h"

namespace headway {
namespace {

// The loop and all it moves. Small on purpose: one handler an event, no policy in sight.
class Simulation {
 public:
  Simulation(const Scenario& scenario, Blueprint blueprint, std::span<Observer* const> observers,
             const RunOptions& options)
      : options_(options),
        observers_(observers.begin(), observers.end()),
        blueprint_(std::move(blueprint)),
        client_(open(scenario), scenario.workload.max_concurrency),
        router_(find_router(scenario.cluster.router).make({scenario.seed})),
        dp_(static_cast<std::uint32_t>(blueprint_.data_parallel_size)),
        group_(blueprint_.replica.in_step ? dp_ : 1),
        step_ends_(static_cast<std::size_t>(scenario.cluster.replicas) * dp_ / group_) {
    blueprint_.replica.skip_ahead = !options.step_by_step && !blueprint_.replica.in_step;
    blueprint_.scheduler.gather_decodes = !options.step_by_step;
    blueprint_.scheduler.counts_blocks = !options.step_by_step;
    const auto engines = static_cast<std::uint32_t>(scenario.cluster.replicas) * dp_;
    for (std::uint32_t first = 0; first < engines; first += group_) {
      std::vector<std::unique_ptr<Replica>> ranks;
      for (std::uint32_t id = first; id < first + group_; ++id) {
        ranks.push_back(make_replica(blueprint_, id, observers));
      }
      seats_.push_back({RankGroup(std::move(ranks), blueprint_.cost), 0, SimTime::never()});
    }
    loads_.resize(static_cast<std::size_t>(scenario.cluster.replicas));
    for (std::size_t i = 0; i < loads_.size(); ++i) loads_[i].replica = static_cast<std::uint32_t>(i);
    if (dp_ > 1) balancers_.assign(loads_.size(), DpBalancer(dp_));
  }

  RunOutcome run() {
    schedule_send(SimTime());
    while (step()) {
      ++outcome_.events;
      if (options_.check_every_event) check();
    }
    return finish();
  }

 private:
  using Queue = EventQueue<EventBody>;
  // An engine is a replica, or a data-parallel rank of one; a seat holds those that step together: all
  // ranks of a replica, or one engine.
  struct Seat {
    RankGroup group;
    std::uint64_t wake_generation;
    SimTime wake_at;              // of the pending wake event; never = none
    std::int64_t under_way = 0;   // requests sent to it, still in its host's front end
  };

  std::unique_ptr<RequestSource> open(const Scenario& scenario) {
    auto source =
        open_workload(scenario.workload, scenario.folder(), scenario.seed, outcome_.notes);
    expected_ = source->size_hint();
    if (options_.threads > 1) source = read_ahead(std::move(source));
    return source;
  }

  // Handles what comes next: of an instant, first the steps that end with it, then what arrives, and
  // when all that is known, the replicas that are to plan. False: nothing is left.
  bool step() {
    for (;;) {
      const SimTime step_end = step_ends_.first_time();
      const SimTime event = queue_.empty() ? SimTime::never() : queue_.next_time();
      const SimTime plan = planning_.empty() ? SimTime::never() : queue_.now();
      if (step_end <= event && step_end <= plan) {
        if (step_end == SimTime::never()) return false;
        queue_.advance(step_end);
        outcome_.end = step_end;
        end_step(step_ends_.first(), step_end);
        return true;
      }
      if (plan < event) {
        plan_next(plan);
        return true;
      }
      if (handle_event()) return true;
    }
  }

  bool handle_event() {
    const auto event = queue_.pop();
    if (out_of_date(event.body)) return false;
    outcome_.end = event.time;
    std::visit([&](const auto& body) { handle(body, event.time); }, event.body);
    return true;
  }

  void plan_next(SimTime now) {
    const auto first = std::min_element(planning_.begin(), planning_.end());
    const std::uint32_t seat = *first;
    *first = planning_.back();
    planning_.pop_back();
    look_again(seat, now);
  }

  // The client's plans change when a request leaves; the newest send event is the one that counts.
  void schedule_send(SimTime now) {
    const std::optional<SimTime> next = client_.next_send();
    if (!next || (send_pending_ && *next >= send_at_)) return;
    send_at_ = std::max(*next, now);
    send_pending_ = true;
    queue_.push(send_at_, Phase::kArrival, SendEvent{++send_generation_});
  }

  void handle(const SendEvent&, SimTime now) {
    send_pending_ = false;
    while (client_.next_send().value_or(SimTime::never()) <= now) send(client_.pop(now), now);
    schedule_send(now);
    report_progress();
  }

  void send(Request request, SimTime now) {
    ++outcome_.requests;
    note(now, request.id);
    for (Observer* o : observers_) o->on_arrival(request.id, now);
    const auto chosen = static_cast<std::uint32_t>(router_->choose(request, loads_, now));
    ++loads_[chosen].outstanding;
    std::uint32_t engine = chosen * dp_;
    if (dp_ > 1) engine += static_cast<std::uint32_t>(balancers_[chosen].choose(now));
    const SimTime delay = blueprint_.replica.host.per_request;
    if (delay == SimTime()) {
      admit(std::move(request), engine, now);
      return;
    }
    ++seats_[engine / group_].under_way;
    queue_.push(now + delay, Phase::kArrival, AdmitEvent{engine, put_parcel(std::move(request))});
  }

  void handle(const AdmitEvent& event, SimTime now) {
    --seats_[event.engine / group_].under_way;
    admit(take_parcel(event.parcel), event.engine, now);
  }

  void admit(Request request, std::uint32_t engine, SimTime now) {
    note(now, engine);
    const std::uint32_t seat = engine / group_;
    RankGroup& group = seats_[seat].group;
    group.catch_up(now);
    group.submit(engine % group_, std::move(request), now);
    expect_step_end(seat);
    collect(seat, now);
    if (group.may_plan()) wake(seat, now);
  }

  void end_step(std::uint32_t seat, SimTime now) {
    seats_[seat].group.end_step(now);
    expect_step_end(seat);
    collect(seat, now);
    wake(seat, now);
  }

  // The engines of the seat look at their queues: at the end of this instant, or later.
  void wake(std::uint32_t number, SimTime at) {
    Seat& seat = seats_[number];
    if (seat.wake_at <= at) return;
    seat.wake_at = at;
    ++seat.wake_generation;
    if (at == queue_.now()) {
      planning_.push_back(number);
    } else {
      queue_.push(at, Phase::kWake, WakeEvent{number, seat.wake_generation}, number);
    }
  }

  void handle(const WakeEvent& event, SimTime now) { look_again(event.seat, now); }

  void look_again(std::uint32_t number, SimTime now) {
    Seat& seat = seats_[number];
    seat.wake_at = SimTime::never();
    if (!seat.group.may_plan()) return;
    const SimTime wake_at = seat.group.start_steps(now);
    expect_step_end(number);
    if (wake_at != SimTime::never()) wake(number, wake_at);
    collect(number, now);
  }

  void expect_step_end(std::uint32_t seat) {
    step_ends_.set(seat, seats_[seat].group.next_step_end());
  }

  bool out_of_date(const EventBody& body) const {
    if (const auto* send = std::get_if<SendEvent>(&body)) {
      return send->generation != send_generation_;
    }
    if (const auto* wake = std::get_if<WakeEvent>(&body)) {
      return wake->generation != seats_[wake->seat].wake_generation;
    }
    return false;
  }

  // Tells the client who has left, which may let it send, and the balancer how the engines stand.
  void collect(std::uint32_t number, SimTime now) {
    RankGroup& group = seats_[number].group;
    bool left = false;
    for (std::uint32_t i = 0; i < group_; ++i) {
      const std::uint32_t engine = number * group_ + i, replica = engine / dp_;
      group.rank(i).take_departures(departures_);
      if (dp_ > 1) {
        const Scheduler& s = group.rank(i).scheduler();
        balancers_[replica].report(engine % dp_, s.waiting(), s.running(), now);
      }
      if (departures_.empty()) continue;
      left = true;
      departed_ += std::ssize(departures_);
      loads_[replica].outstanding -= std::ssize(departures_);
      for (const Departure& d : departures_) client_.on_finish(d.request, d.session, now);
    }
    if (left) schedule_send(now);
  }

  std::uint32_t put_parcel(Request request) {
    if (free_parcels_.empty()) {
      parcels_.push_back(std::move(request));
      return static_cast<std::uint32_t>(parcels_.size() - 1);
    }
    const std::uint32_t index = free_parcels_.back();
    free_parcels_.pop_back();
    parcels_[index] = std::move(request);
    return index;
  }

  Request take_parcel(std::uint32_t index) {
    free_parcels_.push_back(index);
    return std::move(parcels_[index]);
  }

  void note(SimTime now, std::uint64_t id) {
    outcome_.fingerprint =
        combine64(combine64(outcome_.fingerprint, static_cast<std::uint64_t>(now.ns())), id);
  }

  void check() const {
    std::int64_t inside = 0;
    std::vector<std::int64_t> by_replica(loads_.size());
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      std::int64_t& there = by_replica[i * group_ / dp_];
      there += seats_[i].under_way;
      for (std::size_t rank = 0; rank < group_; ++rank) {
        there += seats_[i].group.rank(rank).outstanding();
        seats_[i].group.rank(rank).scheduler().check_kv();
      }
    }
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      SIM_CHECK(loads_[i].outstanding == by_replica[i]);
      inside += by_replica[i];
    }
    SIM_CHECK(outcome_.requests == inside + departed_,
              "INV-1: arrived = waiting + running + finished + rejected");
  }

  void report_progress() {
    if (!options_.progress || expected_ <= 0 || outcome_.requests % 256 != 0) return;
    options_.progress(static_cast<double>(outcome_.requests) / static_cast<double>(expected_));
  }

  RunOutcome finish() {
    SIM_CHECK(client_.drained(), "INV-6: every request was sent");
    for (const Seat& seat : seats_) {
      outcome_.dummy_steps += seat.group.dummy_steps();
      for (std::size_t i = 0; i < seat.group.ranks(); ++i) add(seat.group.rank(i));
    }
    if (blueprint_.replica.in_step) {
      outcome_.notes.push_back("data-parallel ranks stepped together, one step after the other; " +
                               std::to_string(outcome_.dummy_steps) +
                               " dummy batches of ranks without work");
    }
    outcome_.budget = blueprint_.budget;
    outcome_.cost_description = blueprint_.cost->describe();
    outcome_.profile_provenance_json = blueprint_.profile_provenance_json;
    outcome_.host = blueprint_.host;
    for (Observer* o : observers_) o->on_end(outcome_.end);
    return std::move(outcome_);
  }

  void add(const Replica& engine) {
    engine.check_drained();
    outcome_.steps += engine.steps();
    outcome_.steps_skipped += engine.steps_skipped();
    outcome_.fingerprint = combine64(outcome_.fingerprint, engine.timeline());
    outcome_.preemptions += engine.preemptions();
    if (engine.speculation() != nullptr) outcome_.speculation.add(engine.speculation()->stats());
    outcome_.sharing.add(engine.sharing());
    const KvUsage kv = engine.scheduler().kv_usage();
    outcome_.prefix_queries += kv.prefix_queries;
    outcome_.prefix_hits += kv.prefix_hits;
  }

  RunOptions options_;
  std::vector<Observer*> observers_;
  RunOutcome outcome_;
  Blueprint blueprint_;
  std::int64_t expected_ = -1;
  Client client_;
  std::unique_ptr<Router> router_;
  std::uint32_t dp_, group_;             // engines a replica, engines a seat
  std::vector<Seat> seats_;
  std::vector<ReplicaLoad> loads_;       // by replica
  std::vector<DpBalancer> balancers_;    // by replica; none without data parallelism
  Queue queue_;
  std::vector<std::uint32_t> planning_;  // seats that plan at the end of this instant
  Earliest step_ends_;  // by seat; earlier in an instant than any event of the queue
  bool send_pending_ = false;
  SimTime send_at_;
  std::uint64_t send_generation_ = 0;
  std::vector<Request> parcels_;
  std::vector<std::uint32_t> free_parcels_;
  std::vector<Departure> departures_;
  std::int64_t departed_ = 0;
};

}  // namespace

RunOutcome simulate(const Scenario& scenario, std::span<Observer* const> observers,
                    const RunOptions& options) {
  return Simulation(scenario, make_blueprint(scenario), observers, options).run();
}

RunOutcome simulate(const Scenario& scenario, const Blueprint& blueprint,
                    std::span<Observer* const> observers, const RunOptions& options) {
  return Simulation(scenario, blueprint, observers, options).run();
}

}  // namespace headway
