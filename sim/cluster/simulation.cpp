#include "sim/cluster/simulation.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/router_needs.h"
#include "sim/cluster/simulation_loop.h"
#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/workload/read_ahead.h"
#include "sim/workload/request_source.h"

namespace headway {
namespace {

std::vector<Observer*> listeners(std::span<Observer* const> observers, FleetControl& control) {
  std::vector<Observer*> all(observers.begin(), observers.end());
  if (control.listens()) all.push_back(&control);
  return all;
}

}  // namespace

Simulation::Simulation(const Scenario& scenario, const std::vector<PoolPlan>& pools,
           std::span<Observer* const> observers, const RunOptions& options)
    : options_(options),
      retries_(scenario.cluster.lifecycle.on_failure == "retry"),
      control_(scenario, pools),
      observers_(listeners(observers, control_)),
      client_(open(scenario), scenario.workload.max_concurrency),
      router_entry_(find_router(scenario.cluster.router)),
      router_(router_entry_.make({scenario.seed, scenario.cluster.router_options})),
      gateway_(scenario.cluster.admission),
      fleet_(pools, observers_, options.step_by_step, !scenario.cluster.transfer.rule.empty()),
      looks_(fleet_.seats()) {
  if (scenario.cluster.transfer.rule.empty()) return;
  std::vector<std::int32_t> most;
  for (const PoolPlan& pool : pools) most.push_back(pool.most());
  disaggregation_.emplace(scenario, most);
  transfers_.emplace(fleet_.engines());
}

RunOutcome Simulation::run() {
  schedule_send(SimTime());
  for (std::uint32_t pool = 0; pool < control_.pools(); ++pool) announce(pool, SimTime());
  schedule_control(SimTime());
  while (step()) {
    ++outcome_.events;
    if (options_.check_every_event) check();
  }
  return finish();
}

std::unique_ptr<RequestSource> Simulation::open(const Scenario& scenario) {
  auto source =
      open_workload(scenario.workload, scenario.folder(), scenario.seed, outcome_.notes);
  source = with_router_needs(scenario, std::move(source));
  expected_ = source->size_hint();
  if (options_.threads > 1) source = read_ahead(std::move(source));
  return source;
}

// Handles what comes next: of an instant, first the steps that end with it, then what arrives, and
// when all that is known, the replicas that are to plan. False: nothing is left.
bool Simulation::step() {
  for (;;) {
    const SimTime look_at = looks_.first_time();
    const SimTime event =
        queue_.empty() ? send_at_ : std::min(send_at_, queue_.next_time());
    const SimTime plan = planning_.empty() ? SimTime::never() : queue_.now();
    if (look_at <= event && look_at <= plan) {
      if (look_at == SimTime::never()) return false;
      queue_.advance(look_at);
      outcome_.end = look_at;
      look(looks_.first(), look_at);
      return true;
    }
    if (plan < event) {
      plan_next(plan);
      return true;
    }
    if (sends_first()) {
      send_due();
      return true;
    }
    if (handle_event()) return true;
  }
}

bool Simulation::handle_event() {
  const auto event = queue_.pop();
  if (out_of_date(event.body)) return false;
  outcome_.end = event.time;
  std::visit([&](const auto& body) { handle(body, event.time); }, event.body);
  return true;
}

void Simulation::plan_next(SimTime now) {
  const auto first = std::min_element(planning_.begin(), planning_.end());
  const std::uint32_t seat = *first;
  *first = planning_.back();
  planning_.pop_back();
  look_again(seat, now);
}

// The client's plans change when a request leaves.
void Simulation::schedule_send(SimTime now) {
  const SimTime next = client_.next_send();
  if (next >= send_at_) return;
  send_at_ = std::max(next, now);
  send_sequence_ = queue_.take_sequence();
}

void Simulation::send_due() {
  const SimTime now = std::exchange(send_at_, SimTime::never());
  queue_.advance(now);
  outcome_.end = now;
  while (client_.next_send() <= now) send(client_.pop(now), now);
  schedule_send(now);
  report_progress();
}

void Simulation::send(Request&& request, SimTime now) {
  ++outcome_.requests;
  note(now, request.id);
  for (Observer* o : observers_) o->on_arrival(request.id, now);
  const Gateway::Answer answer = gateway_.offer(request, doors(), now);
  if (answer == Gateway::Answer::kIn) return route(std::move(request), now);
  if (answer != Gateway::Answer::kWaits) return turn_away(request, reason_of(answer), now);
  if (fleet_.loads().empty() && !control_.may_serve()) return dismiss(now);
  await_expiry();
}

void Simulation::route(Request&& request, SimTime now) {
  if (router_entry_.reads_kv) {
    catch_up(now);
    fleet_.look_at_kv();
  }
  const std::span<const ReplicaLoad> loads = gateway_.open(doors());
  bool prompt_only = false;
  const std::uint32_t replica = disaggregation_
                                    ? choose_both(request, loads, prompt_only, now)
                                    : loads[router_->choose(request, loads, now)].replica;
  const std::uint32_t engine = fleet_.send(request, replica, now);
  SimTime lost;
  if (!retried_.empty() && retried_.contains(request.id)) {
    request.queued = SimTime();
    lost = now - request.arrival;
  }
  const SimTime delay = fleet_.front_end(replica);
  if (delay == SimTime()) {
    admit({std::move(request), engine, lost, prompt_only}, now);
    return;
  }
  ++fleet_.seat(fleet_.place(engine).seat).under_way;
  const std::uint32_t parcel = parcels_.put(std::move(request), engine, lost, prompt_only);
  queue_.push(now + delay, Phase::kArrival, AdmitEvent{parcel});
}

// Brings the replicas that take requests to where they are now, as they would be step by step.
void Simulation::catch_up(SimTime now) {
  for (const ReplicaLoad& load : fleet_.loads()) {
    const std::uint32_t first = fleet_.first_seat(load.replica);
    for (std::uint32_t i = 0; i < fleet_.seats_of(load.replica); ++i) {
      fleet_.seat(first + i).group->catch_up(now);
      settle(first + i, now);
    }
  }
}

void Simulation::handle(const AdmitEvent& event, SimTime now) {
  Parcel& parcel = parcels_.unpack(event.parcel);
  --fleet_.seat(fleet_.place(parcel.engine).seat).under_way;
  admit(std::move(parcel), now);
  parcels_.discard(event.parcel);
}

void Simulation::admit(Parcel&& parcel, SimTime now) {
  note(now, parcel.engine);
  const auto [seat, rank] = fleet_.place(parcel.engine);
  RankGroup& group = *fleet_.seat(seat).group;
  group.catch_up(now);
  if (parcel.prompt_only) {
    group.rank(rank).submit_prompt(std::move(parcel.request), now, parcel.lost);
  } else {
    group.submit(rank, std::move(parcel.request), now, parcel.lost);
  }
  settle(seat, now);
}

// After something has happened in the seat, or was found to have.
void Simulation::settle(std::uint32_t seat, SimTime now) {
  const bool may_plan = fleet_.seat(seat).group->may_plan();
  if (may_plan) {
    looks_.set(seat, fleet_.seat(seat).group->next_step_end());  // until it has
  } else {
    expect_look(seat);
  }
  collect(seat, now);
  if (may_plan) wake(seat, now);
}

void Simulation::look(std::uint32_t seat, SimTime now) {
  fleet_.seat(seat).group->advance(now);
  settle(seat, now);
}

void Simulation::handle(const WakeEvent& event, SimTime now) {
  look_again(event.seat, now);
}

void Simulation::look_again(std::uint32_t number, SimTime now) {
  Fleet::Seat& seat = fleet_.seat(number);
  seat.wake_at = SimTime::never();
  if (!seat.group->may_plan()) return;
  const SimTime wake_at = seat.group->start_steps(now);
  expect_look(number);
  if (wake_at != SimTime::never()) wake(number, wake_at);
  collect(number, now);
}

bool Simulation::out_of_date(const EventBody& body) {
  if (const auto* wake = std::get_if<WakeEvent>(&body)) {
    return wake->generation != fleet_.seat(wake->seat).wake_generation;
  }
  if (const auto* parcel = std::get_if<AdmitEvent>(&body)) {
    return parcels_.discard_if_lost(parcel->parcel);
  }
  if (const auto* expiry = std::get_if<ExpiryEvent>(&body)) {
    if (expiry->at == gateway_.next_expiry()) return false;
    expiry_at_ = SimTime::never();  // whoever it was for has been let in
    await_expiry();
    return true;
  }
  if (const auto* fleet = std::get_if<FleetEvent>(&body)) {
    // When all is done, replicas may come and go for ever.
    return fleet->generation != control_generation_ ||
           (client_.drained() && client_.in_flight() == 0);
  }
  return false;
}

// Who has left may let the client send, and others in.
void Simulation::tell_departures(std::uint32_t replica, SimTime now) {
  for (const Departure& d : departures_) {
    if (router_entry_.hears_leaving) router_->on_leave(d.request, replica);
    gateway_.leave();
    part(d.request, d.session, now);
  }
  schedule_send(now);
  admit_waiting(now);
}

void Simulation::part(std::uint64_t request, std::int64_t session, SimTime now) {
  ++departed_;
  client_.on_finish(request, session, now);
}

// Those that wait at the gateway are let in while there is a place. Some may leave at once, and others
// get their places: the outermost call goes on with them.
void Simulation::admit_waiting(SimTime now) {
  if (admitting_) return;
  admitting_ = true;
  while (gateway_.may_admit(doors())) route(gateway_.admit(now), now);
  admitting_ = false;
}

void Simulation::note(SimTime now, std::uint64_t id) {
  outcome_.fingerprint =
      combine64(combine64(outcome_.fingerprint, static_cast<std::uint64_t>(now.ns())), id);
}

void Simulation::report_progress() {
  if (!options_.progress || expected_ <= 0 || outcome_.requests % 256 != 0) return;
  options_.progress(static_cast<double>(outcome_.requests) / static_cast<double>(expected_));
}

RunOutcome Simulation::finish() {
  SIM_CHECK(client_.drained() && gateway_.waiting() == 0, "INV-6: every request was sent");
  fleet_.finish(outcome_);
  control_.finish(outcome_);
  if (transfers_) {
    SIM_CHECK(transfers_->drained(), "INV-6: every transfer has ended");
    outcome_.transfers = transfers_->totals(outcome_.end);
  }
  for (Observer* o : observers_) o->on_end(outcome_.end);
  return std::move(outcome_);
}

RunOutcome simulate(const Scenario& scenario, std::span<Observer* const> observers,
                    const RunOptions& options) {
  return simulate(scenario, make_blueprints(scenario), observers, options);
}

RunOutcome simulate(const Scenario& scenario, std::span<const Blueprint> pools,
                    std::span<Observer* const> observers, const RunOptions& options) {
  return Simulation(scenario, pool_plans(scenario, pools), observers, options).run();
}

RunOutcome simulate(const Scenario& scenario, const Blueprint& blueprint,
                    std::span<Observer* const> observers, const RunOptions& options) {
  return simulate(scenario, std::span<const Blueprint>(&blueprint, 1), observers, options);
}

}  // namespace headway
