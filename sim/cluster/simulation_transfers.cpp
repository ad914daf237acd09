// What happens to requests between two replicas (disaggregation.h): handed over, given room, sent.
#include <utility>

#include "sim/cluster/simulation_loop.h"

namespace headway {

// A request that is counted at the engine that will go on with it is in two places meanwhile.
void Simulation::check() {
  std::int64_t inside = outcome_.requests - departed_ - gateway_.waiting();
  if (transfers_) inside += transfers_->reserved() - transfers_->nowhere();
  fleet_.check(inside);
}

std::uint32_t Simulation::choose_both(const Request& request, std::span<const ReplicaLoad> doors,
                                      bool& prompt_only, SimTime now) {
  const auto chosen = disaggregation_->choose(request, doors, fleet_.loads());
  prompt_only = chosen.prompt_only;
  if (chosen.answer != Disaggregation::kLater) {
    const std::uint32_t engine = fleet_.send(request, chosen.answer, now);
    ++fleet_.seat(fleet_.place(engine).seat).under_way;
    transfers_->reserve(request.id, engine);
  }
  return chosen.replica;
}

// Whose prompts are done in the seat, who will never get so far, and which of its engines may have room.
void Simulation::collect_handovers(std::uint32_t number, SimTime now) {
  Fleet::Seat& seat = fleet_.seat(number);
  for (std::uint32_t i = 0; i < seat.group->ranks(); ++i) {
    Replica& rank = seat.group->rank(i);
    const std::uint32_t engine = seat.first_engine + i;
    rank.take_handovers(handovers_);
    for (Handover& begun : handovers_) {
      fleet_.unload(engine, begun.request.prompt_tokens);
      transfers_->hand_over(engine, std::move(begun), now);
    }
    if (rank.take_room_changed()) transfers_->note_room(engine);
  }
  for (const Departure& d : departures_) {
    const auto answers = transfers_->give_up(d.request);
    if (!answers) continue;
    fleet_.unload(*answers, d.prompt_tokens);
    --fleet_.seat(fleet_.place(*answers).seat).under_way;
  }
  if (!transfers_->work_to_do() || placing_) return;
  // When all that happens at this instant is known, and before anybody plans.
  placing_ = true;
  queue_.push(now, Phase::kWake, PlaceEvent{});
}

void Simulation::handle(const PlaceEvent&, SimTime now) {
  placing_ = false;
  for (const std::uint32_t number : transfers_->take_fresh()) {
    KvTransfer& transfer = transfers_->at(number);
    if (transfer.to == KvTransfer::kNowhere) {
      const std::uint32_t replica = disaggregation_->choose_answer(fleet_.loads());
      transfers_->assign(number, fleet_.send(transfer.begun.request, replica, now));
      ++fleet_.seat(fleet_.place(transfer.to).seat).under_way;
    }
    transfers_->wait_for_room(number);
  }
  for (const std::uint32_t engine : transfers_->take_rooms()) {
    while (transfers_->anyone_waits(engine) && give_room(transfers_->first_waiting(engine), now)) {
    }
  }
}

// Whether the transfer has left its line.
bool Simulation::give_room(std::uint32_t number, SimTime now) {
  KvTransfer& t = transfers_->at(number);
  const auto [seat, rank] = fleet_.place(t.to);
  RankGroup& group = *fleet_.seat(seat).group;
  group.catch_up(now);
  const Replica::Admission admission = group.rank(rank).expect(t.begun, now);
  using Verdict = Replica::Admission::Verdict;
  if (admission.verdict != Verdict::kNoRoom) {
    --fleet_.seat(seat).under_way;
    transfers_->leave_line(t.to);
  }
  if (admission.verdict == Verdict::kTaken) {
    note(now, t.to);
    t.slot = admission.slot;
    t.cached_tokens = admission.cached_tokens;
    const std::uint32_t from = fleet_.replica_of(t.from), to = fleet_.replica_of(t.to);
    t.bytes = disaggregation_->bytes(from, t.prompt_tokens, t.cached_tokens);
    const bool at_once = disaggregation_->overlaps() && now == t.handed;
    const SimTime computing = at_once ? t.begun.last_token - t.begun.scheduled : SimTime();
    transfers_->send(number, disaggregation_->duration(t.bytes, from, to, computing), now);
    queue_.push(t.end, Phase::kArrival, TransferEvent{number});
  } else if (admission.verdict == Verdict::kRefused) {
    release_kv(transfers_->take(number), now);
  }
  settle(seat, now);
  return admission.verdict != Verdict::kNoRoom;
}

void Simulation::release_kv(const KvTransfer& transfer, SimTime now) {
  const auto [seat, rank] = fleet_.place(transfer.from);
  RankGroup& group = *fleet_.seat(seat).group;
  group.catch_up(now);
  group.rank(rank).release_kv(transfer.begun.slot);
  settle(seat, now);
}

void Simulation::handle(const TransferEvent& event, SimTime now) {
  const KvTransfer t = transfers_->take(event.transfer);
  release_kv(t, now);
  const auto [seat, rank] = fleet_.place(t.to);
  RankGroup& group = *fleet_.seat(seat).group;
  group.catch_up(now);
  group.rank(rank).receive(t.slot, now);
  const TransferRecord record{t.request, t.from,        t.to,     t.prompt_tokens, t.cached_tokens,
                              t.bytes,   t.handed, t.start, t.end};
  for (Observer* o : observers_) o->on_transfer(record);
  settle(seat, now);
}

}  // namespace headway
