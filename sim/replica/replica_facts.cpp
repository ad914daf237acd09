// What a replica tells those who ask who had which part in a step, and what held the others back.
#include "sim/replica/replica.h"

namespace headway {

struct Replica::ToldFacts {
  std::vector<SequenceFacts> sequences;
  std::vector<PreemptionFacts> preempted;
  std::vector<EmissionFacts> emissions;
};

namespace {

SequenceFacts facts_of(const ScheduledSequence& entry) {
  return {.request = entry.sequence->request->id,
          .sample = entry.sequence->sample,
          .tokens = entry.num_tokens,
          .computed_before = entry.computed_before,
          .prefill = entry.prefill,
          .refines = entry.refines,
          .starts = entry.kind != ScheduledKind::kRunning};
}

// What holds the line back, seen from outside the scheduler.
HeldBack derived_cause(const ReplicaConfig& config, const ReplicaStep& step) {
  if (!step.plan.preempted.empty()) return HeldBack::kKvBlocks;
  if (config.max_num_seqs > 0 && step.record.running >= config.max_num_seqs) {
    return HeldBack::kSeats;
  }
  if (config.max_num_batched_tokens > 0 &&
      step.plan.total_tokens >= config.max_num_batched_tokens) {
    return HeldBack::kTokenBudget;
  }
  // Whoever waits needs more than a few blocks, as a rule.
  const bool full = step.kv.free_blocks * 20 < step.kv.total_blocks;
  return full ? HeldBack::kKvBlocks : HeldBack::kPolicy;
}

}  // namespace

void Replica::tell_queued(const Request& request, SimTime now, SimTime lost) {
  for (Observer* o : fact_observers_) {
    o->on_queued(request.id, config_.id, now, request.queued, lost);
  }
}

void Replica::tell_left(const Request& request, SimTime now) {
  for (Observer* o : fact_observers_) o->on_left(request.id, now);
}

void Replica::tell_received(const Request& request, SimTime now) {
  for (Observer* o : fact_observers_) o->on_received(request.id, config_.id, now);
}

void Replica::tell_plan(const ReplicaStep& step, SimTime now) {
  if (told_ == nullptr) told_ = std::make_shared<ToldFacts>();
  const StepPlan& plan = step.plan;
  PlanFacts facts{.replica = config_.id, .now = now, .ledger = ledger_};
  told_->preempted.clear();
  for (std::size_t i = 0; i < plan.preempted.size(); ++i) {
    const Sequence& victim = *plan.preempted[i];
    PreemptionFacts& told = told_->preempted.emplace_back();
    told.victim = victim.request->id;
    told.sample = victim.sample;
    if (i < plan.preempted_for.size()) {
      told.for_request = static_cast<std::int64_t>(plan.preempted_for[i]->request->id);
    }
    told.prefilled_tokens = active(victim).prefilled_tokens;
  }
  told_->sequences.clear();
  for (const ScheduledSequence& entry : plan.scheduled) told_->sequences.push_back(facts_of(entry));
  facts.preempted = told_->preempted;
  facts.sequences = told_->sequences;
  facts.running = step.record.running;
  facts.waiting = step.record.waiting;
  facts.kv_free = step.kv.free_blocks;
  if (facts.waiting > 0) {
    facts.derived = plan.held_back_by == HeldBack::kUnsaid;
    facts.held_back = facts.derived ? derived_cause(config_, step) : plan.held_back_by;
    if (plan.held_back != nullptr) {
      facts.head = static_cast<std::int64_t>(plan.held_back->request->id);
    }
  }
  for (Observer* o : fact_observers_) o->on_plan(facts);
}

void Replica::tell_step(const ReplicaStep& step, const StepRecord& record) {
  told_->sequences.clear();
  for (const ScheduledSequence& entry : step.plan.scheduled) {
    SequenceFacts& told = told_->sequences.emplace_back(facts_of(entry));
    told.has_output = entry.sequence->output_tokens > 0;
    told.kept = keeps_chunk(entry);
    if (entry.prefill) told.own = own_share(step, entry);
  }
  told_->emissions.clear();
  for (const StepUpdate::Emission& emission : update_.emitted) {
    const Sequence& s = *emission.sequence;
    told_->emissions.push_back({.request = s.request->id,
                                .sample = s.sample,
                                .tokens = emission.tokens,
                                .running = s.state == SequenceState::kRunning || s.finished()});
  }
  const StepFacts facts{record, ledger_, told_->sequences, told_->emissions};
  for (Observer* o : fact_observers_) o->on_step_facts(facts);
}

void Replica::tell_first_token(const ActiveSequence& a, SimTime now) {
  LatencyMeter meter = a.meter;
  meter.finish(now, ledger_);
  for (Observer* o : fact_observers_) {
    o->on_first_token(a.sequence.request->id, now, meter.split());
  }
}

}  // namespace headway
