#include "sim/cluster/simulation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/cluster/build.h"
#include "sim/cluster/events.h"
#include "sim/core/earliest.h"
#include "sim/core/errors.h"
#include "sim/core/event_queue.h"
#include "sim/core/hash.h"
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
        router_(make_router(scenario.cluster.router, scenario.seed)),
        step_ends_(static_cast<std::size_t>(scenario.cluster.replicas)) {
    blueprint_.replica.skip_ahead = !options.step_by_step;
    blueprint_.scheduler.gather_decodes = !options.step_by_step;
    blueprint_.scheduler.counts_blocks = !options.step_by_step;
    for (std::int32_t i = 0; i < scenario.cluster.replicas; ++i) {
      const auto id = static_cast<std::uint32_t>(i);
      replicas_.push_back({make_replica(blueprint_, id, observers), 0, SimTime::never()});
    }
    loads_.resize(replicas_.size());
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
  struct Seat {
    std::unique_ptr<Replica> replica;
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
    const std::uint32_t replica = *first;
    *first = planning_.back();
    planning_.pop_back();
    look_again(replica, now);
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
    const auto chosen = static_cast<std::uint32_t>(router_->choose(request, loads_));
    ++loads_[chosen].outstanding;
    const SimTime delay = blueprint_.replica.host.per_request;
    if (delay == SimTime()) {
      admit(std::move(request), chosen, now);
      return;
    }
    ++replicas_[chosen].under_way;
    queue_.push(now + delay, Phase::kArrival, AdmitEvent{chosen, put_parcel(std::move(request))});
  }

  void handle(const AdmitEvent& event, SimTime now) {
    --replicas_[event.replica].under_way;
    admit(take_parcel(event.parcel), event.replica, now);
  }

  void admit(Request request, std::uint32_t replica, SimTime now) {
    note(now, replica);
    replicas_[replica].replica->catch_up(now);
    replicas_[replica].replica->submit(std::move(request), now);
    expect_step_end(replica);
    collect(replica, now);
    if (replicas_[replica].replica->may_plan()) wake(replica, now);
  }

  void end_step(std::uint32_t replica, SimTime now) {
    replicas_[replica].replica->end_step(now);
    expect_step_end(replica);
    collect(replica, now);
    wake(replica, now);
  }

  // The replica looks at its queue: at the end of this instant, or later.
  void wake(std::uint32_t replica, SimTime at) {
    Seat& seat = replicas_[replica];
    if (seat.wake_at <= at) return;
    seat.wake_at = at;
    ++seat.wake_generation;
    if (at == queue_.now()) {
      planning_.push_back(replica);
    } else {
      queue_.push(at, Phase::kWake, WakeEvent{replica, seat.wake_generation}, replica);
    }
  }

  void handle(const WakeEvent& event, SimTime now) { look_again(event.replica, now); }

  void look_again(std::uint32_t replica, SimTime now) {
    Seat& seat = replicas_[replica];
    seat.wake_at = SimTime::never();
    if (!seat.replica->may_plan()) return;
    const SimTime wake_at = seat.replica->start_steps(now);
    expect_step_end(replica);
    if (wake_at != SimTime::never()) wake(replica, wake_at);
    collect(replica, now);
  }

  void expect_step_end(std::uint32_t replica) {
    step_ends_.set(replica, replicas_[replica].replica->next_step_end());
  }

  bool out_of_date(const EventBody& body) const {
    if (const auto* send = std::get_if<SendEvent>(&body)) {
      return send->generation != send_generation_;
    }
    if (const auto* wake = std::get_if<WakeEvent>(&body)) {
      return wake->generation != replicas_[wake->replica].wake_generation;
    }
    return false;
  }

  // Tells the client who has left, which may let it send.
  void collect(std::uint32_t replica, SimTime now) {
    replicas_[replica].replica->take_departures(departures_);
    if (departures_.empty()) return;
    departed_ += std::ssize(departures_);
    loads_[replica].outstanding -= std::ssize(departures_);
    for (const Departure& d : departures_) client_.on_finish(d.request, d.session, now);
    schedule_send(now);
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
    std::int64_t inside = 0, under_way = 0;
    for (const Seat& seat : replicas_) {
      inside += seat.replica->outstanding();
      under_way += seat.under_way;
      SIM_CHECK(loads_[static_cast<std::size_t>(&seat - replicas_.data())].outstanding ==
                seat.replica->outstanding() + seat.under_way);
      seat.replica->scheduler().check_kv();
    }
    SIM_CHECK(outcome_.requests == inside + under_way + departed_,
              "INV-1: arrived = waiting + running + finished + rejected");
  }

  void report_progress() {
    if (!options_.progress || expected_ <= 0 || outcome_.requests % 256 != 0) return;
    options_.progress(static_cast<double>(outcome_.requests) / static_cast<double>(expected_));
  }

  RunOutcome finish() {
    SIM_CHECK(client_.drained(), "INV-6: every request was sent");
    for (const Seat& seat : replicas_) {
      seat.replica->check_drained();
      outcome_.steps += seat.replica->steps();
      outcome_.steps_skipped += seat.replica->steps_skipped();
      outcome_.fingerprint = combine64(outcome_.fingerprint, seat.replica->timeline());
      outcome_.preemptions += seat.replica->preemptions();
      if (seat.replica->speculation() != nullptr) {
        outcome_.speculation.add(seat.replica->speculation()->stats());
      }
      outcome_.sharing.add(seat.replica->sharing());
      const KvUsage kv = seat.replica->scheduler().kv_usage();
      outcome_.prefix_queries += kv.prefix_queries;
      outcome_.prefix_hits += kv.prefix_hits;
    }
    outcome_.budget = blueprint_.budget;
    outcome_.cost_description = blueprint_.cost->describe();
    outcome_.profile_provenance_json = blueprint_.profile_provenance_json;
    outcome_.host = blueprint_.host;
    for (Observer* o : observers_) o->on_end(outcome_.end);
    return std::move(outcome_);
  }

  RunOptions options_;
  std::vector<Observer*> observers_;
  RunOutcome outcome_;
  Blueprint blueprint_;
  std::int64_t expected_ = -1;
  Client client_;
  std::unique_ptr<Router> router_;
  std::vector<Seat> replicas_;
  std::vector<ReplicaLoad> loads_;
  Queue queue_;
  std::vector<std::uint32_t> planning_;  // replicas that plan at the end of this instant
  Earliest step_ends_;  // by replica; earlier in an instant than any event of the queue
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
