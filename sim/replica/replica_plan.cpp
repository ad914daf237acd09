// The first half of a replica's step: what the scheduler decided, what it costs, when it runs.
// replica.cpp has the second half, replica_run.cpp many steps at once.
#include <algorithm>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/in_place.h"
#include "sim/replica/replica.h"

namespace headway {

SimTime Replica::start_steps(SimTime now) {
  SimTime wake_at = SimTime::never();
  may_plan_ = false;
  added_ = false;
  if (in_flight_.empty()) {  // time without a step is the host's, for whoever was waiting in it
    ledger_.host += now - ledger_at_;
    idle_ += now - ledger_at_;
    ledger_at_ = now;
  }
  while (std::ssize(in_flight_) < config_.batches_in_flight) {
    std::unique_ptr<ReplicaStep> step;
    if (spare_steps_.empty()) {
      step = std::make_unique<ReplicaStep>();
      step->record.replica = config_.id;
    } else {
      step = std::move(spare_steps_.back());
      spare_steps_.pop_back();
    }
    scheduler_->plan(now, step->plan);
    admit_plan(*step, now);
    if (step->plan.empty()) {
      // An empty step that made room (vllm-v1 by priority: the one in need gave way itself) takes no
      // time; the engine looks again.
      const bool made_room = !step->plan.preempted.empty() || !step->plan.rejected.empty();
      wake_at = step->plan.wake_at;
      spare_steps_.push_back(std::move(step));
      if (made_room && in_flight_.empty()) continue;
      break;
    }
    if (config_.in_step) {
      step->start = step->end = SimTime::never();
    } else {
      price(*step);
      time_step(*step, now);
    }
    in_flight_.push_back(std::move(step));
  }
  // An idle engine looks again at every arrival; a busy one only when a step has ended.
  if (in_flight_.empty()) {
    may_plan_ = true;
    const bool held_up = coming_ + keeping_ > 0;  // by KV that is being sent, here or from here
    SIM_CHECK(scheduler_->waiting() + scheduler_->running() == 0 || held_up ||
                  wake_at != SimTime::never(),
              "INV-6: requests wait, nothing runs, and the scheduler plans nothing");
  } else if (!config_.in_step && !seldom_seen_) {
    begin_run();
  }
  return wake_at;
}

// What the plan means for the requests in it, before any time passes.
void Replica::admit_plan(ReplicaStep& step, SimTime now) {
  const StepPlan& plan = step.plan;
  for (const Sequence* s : plan.scattered) note_scattered(active(*s));
  for (const Rejection& rejection : plan.rejected) {
    depart(active(*rejection.sequence), now, true, rejection.reason);
  }
  for (Sequence* victim : plan.preempted) {
    ActiveSequence& a = active(*victim);
    a.lose_kv(now, ledger_);
    ++preemptions_;
    for (Observer* o : observers_) o->on_preemption(victim->request->id, config_.id, now);
    const SequenceGroup* group = victim->group;
    if (group == nullptr || group->forked || victim->output_tokens > 0) continue;
    for (const Sequence* s : group->members) {
      if (s != victim) active(*s).meter.preempted(now, ledger_, a.prefilled_tokens);
    }
  }
  note_gathered(plan);
  StepRecord& record = step.record;
  record.batch = static_cast<std::int32_t>(plan.batch());
  record.preempted = static_cast<std::int32_t>(plan.preempted.size());
  record.prefill_tokens = record.cached_tokens = record.recomputed_tokens = 0;
  record.decode_tokens = plan.decodes.sequences;
  step.admitted = 0;
  bool all_ran = plan.preempted.empty() && plan.rejected.empty() &&
                 plan.swapped_in_blocks + plan.swapped_out_blocks == 0;
  for (const ScheduledSequence& entry : plan.scheduled) {
    (entry.prefill ? record.prefill_tokens : record.decode_tokens) += entry.num_tokens;
    if (entry.prefill && entry.sequence->preemptions > 0) {
      const std::int32_t lost = active(*entry.sequence).lost_tokens - entry.computed_before;
      record.recomputed_tokens += std::clamp(lost, 0, entry.num_tokens);
    }
    if (entry.refines) active(*entry.sequence).meter.refining(now, ledger_);
    if (entry.kind == ScheduledKind::kRunning) continue;
    all_ran = false;
    ActiveSequence& a = active(*entry.sequence);
    if (entry.prefill) record.cached_tokens += entry.computed_before;  // else it was swapped in
    room_changed_ = true;
    if (a.received) {
      a.received = false;
      ++step.admitted;
    } else if (a.scheduled == SimTime::never()) {
      ++step.admitted;
      a.scheduled = now;
      a.cached_tokens = entry.computed_before;
    }
    a.meter.scheduled(now, ledger_);
    on_followers(entry, [&](ActiveSequence& follower) {
      follower.scheduled = a.scheduled;
      follower.meter.scheduled(now, ledger_);
    });
  }
  step.only_decodes = all_ran && record.decode_tokens == plan.batch();
  make_in_place(step.kv, [&] { return scheduler_->kv_usage(); });
  record.running = scheduler_->running();
  record.waiting = scheduler_->waiting();
  SIM_CHECK(sequences_ == record.running + record.waiting,
            "INV-1: arrived = waiting + running + finished + rejected");
  if (tells_facts()) tell_plan(step, now);
  sharing_.forks += plan.forked_sequences;
  sharing_.copied_blocks += plan.copied_blocks;
  if (groups_ > 0) sharing_.sample(step.kv);
}

void Replica::price(ReplicaStep& step) {
  shape_of(step.plan, shape_);
  make_in_place(step.cost, [&] { return cost_->price(shape_); });
  add_own_work(step);
  step.decode_only_us = step.cost.gpu_us;
  if (step.record.prefill_tokens == 0) return;
  leave_prefill_out(step.plan, shape_);
  const double decode_us = shape_.tokens > 0 ? cost_->price(shape_).gpu_us : 0.0;
  step.decode_only_us = std::min(decode_us, step.cost.gpu_us);
}

// GPU time beside the model's own pass. REQUIRES: shape_ is the step's.
void Replica::add_own_work(ReplicaStep& step) {
  if (speculation_) {
    std::int32_t sampling = 0;
    for (const ScheduledSequence& entry : step.plan.scheduled) sampling += entry.samples;
    sampling += step.plan.decodes.sequences;
    add_other(step.cost, speculation_->draft_cost(shape_, sampling, draft_shape_));
  }
  const StepPlan& plan = step.plan;
  const auto swapped = static_cast<double>(plan.swapped_in_blocks + plan.swapped_out_blocks);
  const auto copied = static_cast<double>(plan.copied_blocks);
  const double moving_us =
      config_.swap_us_per_block * swapped + config_.copy_us_per_block * copied;
  // Bytes over a data-sheet bandwidth.
  if (moving_us > 0) add_other(step.cost, moving_us, Coverage::kRoofline);
}

void Replica::planned_shape(StepShape& shape) const { shape_of(in_flight_.front()->plan, shape); }

void Replica::planned_decodes(StepShape& shape) const {
  planned_shape(shape);
  leave_prefill_out(in_flight_.front()->plan, shape);
}

SimTime Replica::price_planned(const StepCost& cost, double decode_only_us) {
  ReplicaStep& step = *in_flight_.front();
  shape_of(step.plan, shape_);
  step.cost = cost;
  add_own_work(step);
  step.decode_only_us = decode_only_us;
  step.host = config_.host.of_step(step.plan.batch(), step.admitted);
  return SimTime::from_us(step.cost.gpu_us) + step.host;
}

void Replica::begin_planned(SimTime now, SimTime end) {
  ReplicaStep& step = *in_flight_.front();
  step.start = now;
  step.end = end;
  last_start_ = now;
  // The slower ranks' time is seen at the collectives of every layer; it came from the same tables.
  const SimTime alone = SimTime::from_us(step.cost.gpu_us) + step.host;
  const double waits_us = std::max(0.0, (end - now - alone).us());
  const double own_us = step.cost.gpu_us;
  if (waits_us > 0 && own_us > 0) {
    step.cost.gpu_us += waits_us;
    step.cost.by_class_us[static_cast<std::size_t>(OpClass::kCommunication)] += waits_us;
    for (double& us : step.cost.coverage_us) us *= step.cost.gpu_us / own_us;
  }
  step.decode_only_us = std::min(step.decode_only_us, step.cost.gpu_us);
}

// A pipeline takes the next batch as soon as its first stage is free, and gives results in order.
void Replica::time_step(ReplicaStep& step, SimTime now) {
  const SimTime gpu = SimTime::from_us(step.cost.gpu_us);
  step.host = config_.host.of_step(step.plan.batch(), step.admitted);
  const SimTime duration = gpu + step.host;
  const SimTime previous_end = in_flight_.empty() ? now : in_flight_.back()->end;
  if (config_.pipeline_parallel_size > 1) {
    step.start = in_flight_.empty() ? now : std::max(now, last_start_ + last_stage_);
    step.end = std::max(step.start + duration, previous_end);
    last_stage_ = config_.slowest_stage > 0
                      ? SimTime::from_us(config_.slowest_stage * duration.us())
                      : SimTime::from_ns(duration.ns() / config_.pipeline_parallel_size);
  } else {
    step.start = std::max(now, previous_end);
    step.end = step.start + duration;
  }
  last_start_ = step.start;
}

// Gathered decodes have a token at the end of every step, and so no gap but those between step ends.
void Replica::note_gathered(const StepPlan& plan) {
  const std::uint64_t next_step = steps_ + in_flight_.size() + 1;
  for (const Sequence* s : plan.gathered) active(*s).gathered_from = next_step;
}

}  // namespace headway
