// What happens to replicas during a run, and to requests that have none.
#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/cluster/simulation_loop.h"

namespace headway {

// It never gets to a replica, or not to another one.
void Simulation::turn_away(const Request& request, const char* reason, SimTime now) {
  const SimTime lost = retried_.contains(request.id) ? now - request.arrival : SimTime();
  const RequestRecord record = turned_away(request, lost, now, reason);
  for (Observer* o : observers_) o->on_finish(record);
  part(request.id, request.session_id, now);
  schedule_send(now);
}

void Simulation::dismiss(SimTime now) {
  for (const Request& request : gateway_.dismiss()) {
    turn_away(request, Gateway::kNoReplicaLeft, now);
  }
}

void Simulation::await_expiry() {
  const SimTime at = gateway_.next_expiry();
  if (at == SimTime::never() || at == expiry_at_) return;
  expiry_at_ = at;
  queue_.push(at, Phase::kArrival, ExpiryEvent{at});
}

void Simulation::handle(const ExpiryEvent&, SimTime now) {
  expiry_at_ = SimTime::never();
  for (const Request& request : gateway_.take_expired(now)) {
    turn_away(request, Gateway::kGaveUp, now);
  }
  await_expiry();
}

void Simulation::schedule_control(SimTime now) {
  const SimTime next = control_.next();
  if (next == control_at_) return;
  control_at_ = next;
  ++control_generation_;
  if (next == SimTime::never()) return;
  queue_.push(std::max(next, now), Phase::kStepEnd, FleetEvent{control_generation_});
}

void Simulation::handle(const FleetEvent&, SimTime now) {
  control_at_ = SimTime::never();
  if (control_.looks(now)) catch_up(now);
  std::vector<ReplicaChange> changes;
  control_.act(now, fleet_, gateway_.waiting(), changes);
  for (const ReplicaChange& change : changes) follow(change, now);
  for (const ReplicaChange& change : changes) announce(control_.pool_of(change.replica), now);
  admit_waiting(now);
  if (fleet_.loads().empty() && !control_.may_serve()) dismiss(now);
  schedule_control(now);
}

// What a replica's change means for its requests.
void Simulation::follow(const ReplicaChange& change, SimTime now) {
  const bool was_there =
      change.from == ReplicaState::kReady || change.from == ReplicaState::kDraining;
  if (change.to == ReplicaState::kReady) {
    fleet_.open(change.replica);
  } else if (change.to == ReplicaState::kDraining) {
    fleet_.close(change.replica);
    if (fleet_.quiet(change.replica)) control_.emptied(change.replica, now);
  } else if (was_there && change.lost) {
    lose(change.replica, now);
  } else if (was_there) {
    fleet_.drop(change.replica);
    retire_seats(change.replica);
    router_->on_gone(change.replica);
  }
}

// The replica has failed: what was in it, or on its way, is sent again or lost.
void Simulation::lose(std::uint32_t replica, SimTime now) {
  fleet_.close(replica);
  const std::uint32_t first = fleet_.first_seat(replica);
  for (std::uint32_t i = 0; i < fleet_.seats_of(replica); ++i) {
    fleet_.seat(first + i).group->catch_up(now);
    collect(first + i, now);
  }
  std::vector<Request> requests = fleet_.lose(replica);
  parcels_.lose(fleet_.seat(first).first_engine, fleet_.engines_of(replica), requests);
  retire_seats(replica);
  std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return std::tie(a.arrival, a.id) < std::tie(b.arrival, b.id);
  });
  for (Request& request : requests) {
    if (router_entry_.hears_leaving) router_->on_leave(request.id, replica);
    retried_.insert(request.id);
    if (retries_) {
      ++outcome_.retries;
      gateway_.put_back(std::move(request));
    } else {
      gateway_.leave();
      turn_away(request, "its replica failed", now);
    }
  }
  router_->on_gone(replica);
}

void Simulation::note_emptied(std::uint32_t replica, SimTime now) {
  if (!control_.drains(replica) || !fleet_.quiet(replica)) return;
  control_.emptied(replica, now);
  schedule_control(now);
}

// Its engines will do nothing any more.
void Simulation::retire_seats(std::uint32_t replica) {
  const std::uint32_t first = fleet_.first_seat(replica);
  for (std::uint32_t seat = first; seat < first + fleet_.seats_of(replica); ++seat) {
    looks_.set(seat, SimTime::never());
    fleet_.seat(seat).wake_at = SimTime::never();
    ++fleet_.seat(seat).wake_generation;
    std::erase(planning_, seat);
  }
}

void Simulation::announce(std::uint32_t pool, SimTime now) {
  if (!control_.changes()) return;
  const FleetRecord record = control_.count(pool, now);
  for (Observer* o : observers_) o->on_fleet(record);
}

}  // namespace headway
