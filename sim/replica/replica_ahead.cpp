// Looking rarely: a replica that only its departures make known to others is left alone until one may
// leave, and then does all that it would have done meanwhile, one thing after the other.
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/replica/replica.h"

namespace headway {
namespace {

// Observers hear of what happened when it is done: no more steps late than this.
constexpr std::int64_t kMostUnseen = 512;

}  // namespace

SimTime Replica::look_at() {
  if (!seldom_seen_ || in_flight_.empty()) return next_step_end();
  const std::int64_t quiet = scheduler_->quiet_steps();
  if (quiet == Scheduler::kUnsaid) {
    if (!run_.active && !added_) begin_run();
    return next_step_end();
  }
  return std::max(no_sooner_than(std::min(quiet, kMostUnseen) + 1), next_step_end());
}

// When so many steps have ended, counted from the oldest in flight, at the earliest.
SimTime Replica::no_sooner_than(std::int64_t completions) const {
  SimTime end = next_step_end();
  std::int64_t ended = 1;
  if (run_.active) {
    ended = run_.steps + (run_.goes_on ? 0 : 1);
    const auto laid = std::ssize(run_.gaps_ns);
    for (; ended < std::min(completions, laid); ++ended) end += run_.gap(ended);
  } else {
    ended = std::min(completions, std::ssize(in_flight_));
    end = in_flight_[static_cast<std::size_t>(ended - 1)]->end;
  }
  return end + least_step_ * std::max<std::int64_t>(completions - ended, 0);
}

// `goes_on`: a run of steps that reaches further may stay, else it will be cut off.
void Replica::advance(SimTime until, bool goes_on) {
  for (SimTime end = next_step_end(); end <= until; end = next_step_end()) {
    if (lays_out(until, goes_on)) continue;
    end_step(end);
    if (end == until) return;  // what is planned then, the caller says
    SIM_CHECK(seldom_seen_, "a step has ended unseen");
    if (may_plan_) start_steps(end);
    SIM_CHECK(departures_.empty(), "somebody has left unseen");
  }
}

// Whether the steps in flight are now the first of a run that has been laid out.
bool Replica::lays_out(SimTime until, bool goes_on) {
  const std::int64_t depth = std::ssize(in_flight_);
  if (!seldom_seen_ || run_.active || added_ || depth != config_.batches_in_flight) return false;
  std::int64_t steps = kMostUnseen;
  if (!goes_on) {
    constexpr std::int64_t kFewest = 2;  // else it takes longer than step by step
    const ReplicaStep& newest = *in_flight_.back();
    const std::int64_t gap_ns = std::max<std::int64_t>((newest.end - newest.start).ns(), 1);
    const std::int64_t left = (until - newest.end).ns() / gap_ns;
    if (left < kFewest) return false;
    steps = std::min(left + depth + 1, kMostUnseen);
  } else if (in_flight_.front()->end == until) {
    return false;
  }
  begin_run(steps);
  return run_.active;
}

}  // namespace headway
