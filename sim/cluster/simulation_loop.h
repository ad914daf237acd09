#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "sim/cluster/disaggregation.h"
#include "sim/cluster/events.h"
#include "sim/cluster/fleet.h"
#include "sim/cluster/fleet_control.h"
#include "sim/cluster/gateway.h"
#include "sim/cluster/parcels.h"
#include "sim/cluster/simulation.h"
#include "sim/cluster/transfers.h"
#include "sim/core/earliest.h"
#include "sim/core/event_queue.h"
#include "sim/routing/router.h"
#include "sim/workload/client.h"

namespace headway {

// The loop: one handler an event, no policy in sight. What it moves is the fleet's, who is let in the
// gateway's, and which replicas there are its control's. In three files: simulation.cpp has what happens
// to every request, simulation_fleet.cpp what happens to replicas, and to requests without one,
// simulation_transfers.cpp what happens to requests that change replicas.
class Simulation {
 public:
  Simulation(const Scenario& scenario, const std::vector<PoolPlan>& pools,
             std::span<Observer* const> observers, const RunOptions& options);
  RunOutcome run();

 private:
  std::unique_ptr<RequestSource> open(const Scenario& scenario);
  bool step();
  bool handle_event();
  void plan_next(SimTime now);
  void schedule_send(SimTime now);
  bool sends_first() const {
    return send_at_ != SimTime::never() &&
           queue_.comes_first(send_at_, Phase::kArrival, send_sequence_);
  }
  void send_due();
  void send(Request&& request, SimTime now);
  void route(Request&& request, SimTime now);
  void catch_up(SimTime now);
  void handle(const AdmitEvent& event, SimTime now);
  void admit(Parcel&& parcel, SimTime now);
  void settle(std::uint32_t seat, SimTime now);
  void look(std::uint32_t seat, SimTime now);
  // The engines of the seat look at their queues: at the end of this instant, or later.
  void wake(std::uint32_t number, SimTime at) {
    Fleet::Seat& seat = fleet_.seat(number);
    if (seat.wake_at <= at) return;
    seat.wake_at = at;
    ++seat.wake_generation;
    if (at == queue_.now()) {
      planning_.push_back(number);
    } else {
      queue_.push(at, Phase::kWake, WakeEvent{number, seat.wake_generation}, number);
    }
  }
  void handle(const WakeEvent& event, SimTime now);
  void look_again(std::uint32_t number, SimTime now);
  // Called when all that the seat's engines plan now has been planned.
  void expect_look(std::uint32_t seat) {
    looks_.set(seat, fleet_.seat(seat).group->look_at());
  }
  bool out_of_date(const EventBody& body);
  // Tells the client, and a router that remembers, who has left the seat.
  void collect(std::uint32_t seat, SimTime now) {
    fleet_.collect(seat, now, departures_);
    if (transfers_) collect_handovers(seat, now);
    if (control_.changes()) note_emptied(fleet_.seat(seat).replica, now);
    if (!departures_.empty()) tell_departures(fleet_.seat(seat).replica, now);
  }
  void tell_departures(std::uint32_t replica, SimTime now);
  void part(std::uint64_t request, std::int64_t session, SimTime now);
  void admit_waiting(SimTime now);
  void note(SimTime now, std::uint64_t id);
  void report_progress();
  RunOutcome finish();

  // simulation_transfers.cpp
  std::span<const ReplicaLoad> doors() {
    return disaggregation_ ? disaggregation_->doors(fleet_.loads()) : fleet_.loads();
  }
  std::uint32_t choose_both(const Request& request, std::span<const ReplicaLoad> doors,
                            bool& prompt_only, SimTime now);
  void collect_handovers(std::uint32_t seat, SimTime now);
  void handle(const PlaceEvent&, SimTime now);
  bool give_room(std::uint32_t transfer, SimTime now);
  void release_kv(const KvTransfer& transfer, SimTime now);
  void handle(const TransferEvent& event, SimTime now);
  void check();

  // simulation_fleet.cpp
  void turn_away(const Request& request, const char* reason, SimTime now);
  void dismiss(SimTime now);
  void await_expiry();
  void handle(const ExpiryEvent&, SimTime now);
  void schedule_control(SimTime now);
  void handle(const FleetEvent&, SimTime now);
  void follow(const ReplicaChange& change, SimTime now);
  void lose(std::uint32_t replica, SimTime now);
  void note_emptied(std::uint32_t replica, SimTime now);
  void retire_seats(std::uint32_t replica);
  void announce(std::uint32_t pool, SimTime now);

  RunOptions options_;
  bool retries_;                // requests of a failed replica are sent again
  FleetControl control_;
  std::vector<Observer*> observers_;
  RunOutcome outcome_;
  std::int64_t expected_ = -1;
  Client client_;
  const RouterEntry& router_entry_;
  std::unique_ptr<Router> router_;
  Gateway gateway_;
  Fleet fleet_;
  EventQueue<EventBody> queue_;
  std::vector<std::uint32_t> planning_;  // seats that plan at the end of this instant
  Earliest looks_;  // by seat: by when to look at it; earlier in an instant than any event of the queue
  bool admitting_ = false;
  SimTime send_at_ = SimTime::never();  // when the client sends next: an event beside the queue, since
  std::uint64_t send_sequence_ = 0;     // there is one a request, and it moves
  SimTime expiry_at_ = SimTime::never(), control_at_ = SimTime::never();
  std::uint64_t control_generation_ = 0;
  Parcels parcels_;
  std::unordered_set<std::uint64_t> retried_;  // requests that were in a replica that failed
  std::vector<Departure> departures_;
  std::int64_t departed_ = 0;
  std::optional<Disaggregation> disaggregation_;  // none: a request stays in one replica
  std::optional<Transfers> transfers_;
  std::vector<Handover> handovers_;
  bool placing_ = false;  // a PlaceEvent is to come
};

}  // namespace headway
