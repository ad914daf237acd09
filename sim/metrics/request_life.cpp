#include "sim/metrics/request_life.h"

#include <algorithm>
#include <utility>

#include "sim/core/errors.h"

namespace headway {
namespace {

void add_time(LifePiece& piece, std::uint64_t request, SimTime time) {
  for (auto& [other, sum] : piece.others) {
    if (other != request) continue;
    sum += time;
    return;
  }
  piece.others.emplace_back(request, time);
}

// What other requests' prompts took, shared out among them by their tokens.
void blame(LifePiece& piece, std::uint64_t id, SimTime time, const StepFacts& step) {
  std::int64_t all = 0;
  for (const SequenceFacts& s : step.sequences) {
    if (s.prefill && s.request != id) all += s.tokens;
  }
  if (all == 0 || time.ns() <= 0) return;
  std::int64_t before = 0;
  for (const SequenceFacts& s : step.sequences) {
    if (!s.prefill || s.request == id) continue;
    const auto share = [&](std::int64_t tokens) {
      return static_cast<std::int64_t>(static_cast<double>(time.ns()) *
                                       static_cast<double>(tokens) / static_cast<double>(all));
    };
    add_time(piece, s.request, SimTime::from_ns(share(before + s.tokens) - share(before)));
    before += s.tokens;
  }
}

template <typename Facts>
const Facts* of(std::span<const Facts> all, std::uint64_t id) {
  for (const Facts& facts : all) {
    if (facts.request == id && facts.sample == 0) return &facts;
  }
  return nullptr;
}

}  // namespace

LifePiece* LifeObserver::tell(Open& open, SimTime now, LifePhase phase) {
  LatencyMeter meter = open.meter;
  meter.finish(now, open.ledger);
  LatencySplit delta{};
  bool any = now > open.at;
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    const SimTime told = std::exchange(open.told[i], open.carried[i] + meter.split()[i]);
    delta[i] = open.told[i] - told;
    any = any || delta[i] != SimTime();
  }
  if (!any) return nullptr;
  const bool lost = delta[static_cast<std::size_t>(LatencyPart::kPreemption)] > SimTime();
  std::vector<LifePiece>& pieces = open.life.pieces;
  const bool goes_on = !pieces.empty() && pieces.back().lost == lost;
  // A step without it in the midst of its prompt or answer is part of that.
  if (phase == LifePhase::kPassedOver && goes_on &&
      (pieces.back().phase == LifePhase::kPrefill || pieces.back().phase == LifePhase::kDecode)) {
    phase = pieces.back().phase;
  } else if (phase == LifePhase::kPassedOver && open.has_token && !lost) {
    phase = LifePhase::kDecode;
  }
  if (!goes_on || pieces.back().phase != phase) {
    pieces.emplace_back();
    pieces.back().phase = phase;
    pieces.back().lost = lost;
    pieces.back().from = open.at;
  }
  LifePiece& piece = pieces.back();
  piece.to = open.at = now;
  for (std::size_t i = 0; i < kLatencyParts; ++i) piece.split[i] += delta[i];
  return &piece;
}

void LifeObserver::tell_line(std::uint64_t id, Open& open, SimTime now) {
  const SimTime spent = now - open.at;
  LifePiece* piece = tell(open, now, LifePhase::kInLine);
  if (piece == nullptr) return;
  piece->by_cause[static_cast<std::size_t>(open.cause)] += spent;
  if (open.cause == HeldBack::kNobody) return;
  piece->derived = piece->derived || open.derived;
  const bool behind = open.head >= 0 && open.head != static_cast<std::int64_t>(id);
  if (behind) {
    add_time(*piece, static_cast<std::uint64_t>(open.head), spent);
  } else {
    piece->first += spent;
  }
}

void LifeObserver::on_arrival(std::uint64_t request, SimTime now) {
  if (only_) {
    const auto distance = [&](std::uint64_t id) { return id > *only_ ? id - *only_ : *only_ - id; };
    if (!nearest_ || distance(request) < distance(*nearest_)) nearest_ = request;
    if (request != *only_) return;
  }
  Open& open = open_[request];
  open.arrival = open.at = now;
}

void LifeObserver::on_queued(std::uint64_t request, std::uint32_t replica, SimTime now,
                             SimTime at_gateway, SimTime lost) {
  const auto found = open_.find(request);
  if (found == open_.end()) return;
  Open& open = found->second;
  const bool again = std::exchange(open.queued, true);
  stand_in_line(open, replica);
  if (!again) {
    open.meter.enter(open.arrival, now, at_gateway, lost);
    tell(open, now, LifePhase::kFrontEnd);
    return;
  }
  forget(open);  // sent anew after its replica failed: what it had is lost
  open.meter.enter(open.arrival, now, at_gateway, lost);
  tell(open, now, LifePhase::kMoving);
}

void LifeObserver::forget(Open& open) {
  open.life.pieces.clear();
  open.told = open.carried = {};
  open.at = open.arrival;
  open.meter = LatencyMeter();
  open.has_token = false;
}

// From here on by the ledger of this replica.
void LifeObserver::stand_in_line(Open& open, std::uint32_t replica) {
  open.replica = replica;
  open.in_line = true;
  open.cause = HeldBack::kNobody;
  open.ledger = {};
}

void LifeObserver::on_left(std::uint64_t request, SimTime now) {
  const auto found = open_.find(request);
  if (found == open_.end()) return;
  tell(found->second, now, LifePhase::kPassedOver);
  found->second.replica = kNowhere;
}

void LifeObserver::on_received(std::uint64_t request, std::uint32_t replica, SimTime now) {
  const auto found = open_.find(request);
  if (found == open_.end()) return;
  Open& open = found->second;
  stand_in_line(open, replica);
  open.carried = {};
  open.meter = LatencyMeter();
  open.meter.expect(open.told, open.at);
  open.meter.received(now);
  tell(open, now, LifePhase::kMoving);
}

void LifeObserver::on_plan(const PlanFacts& plan) {
  for (auto& [id, open] : open_) {
    if (open.replica == plan.replica) hear_plan(id, open, plan);
  }
}

void LifeObserver::hear_plan(std::uint64_t id, Open& open, const PlanFacts& plan) {
  for (const PreemptionFacts& p : plan.preempted) {
    if (p.victim != id || p.sample != 0) continue;
    open.ledger = plan.ledger;
    tell(open, plan.now, LifePhase::kPassedOver);
    open.meter.preempted(plan.now, plan.ledger, p.prefilled_tokens);
    open.life.preemptions.push_back({plan.now, p.for_request, p.prefilled_tokens});
    open.in_line = true;
    open.cause = HeldBack::kNobody;
  }
  const SequenceFacts* part = of(plan.sequences, id);
  if (!open.in_line && (part == nullptr || !part->refines)) return;
  open.ledger = plan.ledger;
  if (open.in_line) {
    tell_line(id, open, plan.now);
  } else {
    tell(open, plan.now, LifePhase::kPassedOver);
  }
  if (part != nullptr && part->refines) open.meter.refining(plan.now, plan.ledger);
  if (part != nullptr && part->starts) {
    open.meter.scheduled(plan.now, plan.ledger);
    open.in_line = false;
    open.cause = HeldBack::kNobody;
  }
  if (!open.in_line) return;
  open.cause = plan.held_back;
  open.head = plan.head;
  open.derived = plan.derived;
}

void LifeObserver::on_step_facts(const StepFacts& step) {
  const SimTime end = step.record.start + step.record.duration;
  for (auto& [id, open] : open_) {
    if (open.replica == step.record.replica) hear_step(id, open, step, end);
  }
}

void LifeObserver::hear_step(std::uint64_t id, Open& open, const StepFacts& step, SimTime end) {
  open.ledger = step.ledger;
  const SequenceFacts* part = of(step.sequences, id);
  const EmissionFacts* emission = of(step.emissions, id);
  if (part != nullptr && part->prefill && part->kept) {
    open.meter.prefilled(end, step.ledger, part->own, part->computed_before + part->tokens,
                         part->has_output);
  }
  if (emission != nullptr) {
    open.meter.token(end, step.ledger, emission->running);
    open.has_token = true;
  }
  if (open.in_line) {
    tell_line(id, open, end);
    if (open.life.pieces.back().phase == LifePhase::kInLine) ++open.life.pieces.back().steps;
    return;
  }
  const SimTime before = open.told[static_cast<std::size_t>(LatencyPart::kInterference)];
  LifePhase phase = LifePhase::kPassedOver;
  if (part != nullptr) phase = part->prefill ? LifePhase::kPrefill : LifePhase::kDecode;
  LifePiece* piece = tell(open, end, phase);
  if (piece == nullptr) return;
  ++piece->steps;
  if (part == nullptr) ++piece->steps_without;
  if (part != nullptr && part->prefill) piece->tokens += part->tokens;
  if (emission != nullptr && piece->phase == LifePhase::kDecode) piece->tokens += emission->tokens;
  blame(*piece, id, open.told[static_cast<std::size_t>(LatencyPart::kInterference)] - before, step);
}

void LifeObserver::on_finish(const RequestRecord& request) {
  const auto found = open_.find(request.id);
  if (found == open_.end()) return;
  Open& open = found->second;
  if (request.replica == kNoReplica) {  // turned away
    forget(open);
    open.carried = request.split;
    open.meter.enter(request.finish, request.finish);
    tell(open, request.finish, open.queued ? LifePhase::kMoving : LifePhase::kFrontEnd);
  } else if (open.in_line) {
    tell_line(request.id, open, request.finish);
  } else {
    tell(open, request.finish, LifePhase::kPassedOver);
  }
  RequestLife life = std::move(open.life);
  life.record = request;
  LifePiece rest{.phase = LifePhase::kOthers, .from = request.finish, .to = request.finish};
  SimTime sum;
  for (std::size_t i = 0; i < kLatencyParts; ++i) {
    rest.split[i] = request.split[i] - open.told[i];
    sum += open.told[i];
    if (rest.split[i] != SimTime()) rest.steps = 1;
  }
  SIM_CHECK(sum == request.finish - request.arrival, "INV-3: the pieces of a life sum to its E2EL");
  if (rest.steps > 0) {
    rest.steps = 0;
    life.pieces.push_back(rest);
  }
  lives_.push_back(std::move(life));
  open_.erase(found);
}

}  // namespace headway
