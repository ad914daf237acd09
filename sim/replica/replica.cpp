#include "sim/replica/replica.h"

#include <algorithm>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/hash.h"

namespace headway {
namespace {

const char* reason_text(FinishReason reason) {
  switch (reason) {
    case FinishReason::kLength: return "length";
    case FinishReason::kAborted: return "abort";
    default: return "stop";
  }
}

}  // namespace

Replica::Replica(const ReplicaConfig& config, std::unique_ptr<Scheduler> scheduler,
                 std::shared_ptr<const CostModel> cost, std::span<Observer* const> observers,
                 std::unique_ptr<Speculation> speculation, std::shared_ptr<RunRoom> room)
    : config_(config),
      scheduler_(std::move(scheduler)),
      cost_(std::move(cost)),
      observers_(observers.begin(), observers.end()),
      speculation_(std::move(speculation)),
      room_(room ? std::move(room) : std::make_shared<RunRoom>()),
      prices_(std::make_shared<const RunPrices>(cost_)) {
  steps_ = config_.first_step;
  for (Observer* o : observers_) {
    if (o->hears_steps()) step_observers_.push_back(o);
    reads_runs_ = reads_runs_ || (o->hears_steps() && !o->lays_out_runs());
    if (o->hears_facts()) fact_observers_.push_back(o);
  }
  seldom_seen_ = config_.seldom_seen && config_.skip_ahead && !tells_facts() && !speculation_ &&
                 config_.pipeline_parallel_size == 1;
  least_step_ = SimTime::from_us(cost_->least_us()) + config_.host.of_step(1, 0);
}

std::uint32_t Replica::take_slot() {
  while (!leaving_slots_.empty() && leaving_slots_.front().after_steps <= steps_) {
    free_slots_.push_back(leaving_slots_.front().slot);
    leaving_slots_.pop_front();
  }
  if (free_slots_.empty()) {
    slots_.push_back(std::make_unique<ActiveSequence>());
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot]->clear();
  return slot;
}

void Replica::submit(Request&& request, SimTime now, SimTime lost) {
  ActiveSequence* a = take_in(std::move(request), now, lost);
  if (a == nullptr) return;
  if (sequences_of(a->request) > 1) {
    submit_group(*a);
  } else {
    scheduler_->add(a->sequence);
  }
}

// Null: it is refused, and has left.
ActiveSequence* Replica::take_in(Request&& request, SimTime now, SimTime lost) {
  SIM_CHECK(!run_.active, "a request is submitted into a run of steps");
  ++submitted_;
  ++sequences_;
  added_ = true;
  const std::uint32_t slot = take_slot();
  ActiveSequence& a = *slots_[slot];
  a.open(std::move(request), slot, order_++, now, lost);
  if (tells_facts()) tell_queued(a.request, now, lost);
  if (!too_long(a.sequence)) return &a;
  depart(a, now, true, too_long_text(a.sequence));
  return nullptr;
}

bool Replica::too_long(const Sequence& s) const {
  return s.prompt_tokens + s.max_tokens > config_.max_model_len;
}

std::string Replica::too_long_text(const Sequence& s) const {
  return "prompt " + std::to_string(s.prompt_tokens) + " + output " + std::to_string(s.max_tokens) +
         " tokens exceed max_model_len " + std::to_string(config_.max_model_len);
}

// A sequence a sample. Where the scheduler forks, the leader computes the prompt for all; until then
// what happens to it happens to them (on_followers).
void Replica::submit_group(ActiveSequence& leader) {
  const std::int32_t count = sequences_of(leader.request);
  leader.own_group = std::make_unique<RequestGroup>(leader.request.beam_width > 1);
  RequestGroup& group = *leader.own_group;
  for (std::int32_t sample = 0; sample < count; ++sample) {
    const std::uint32_t slot = sample == 0 ? leader.sequence.slot : take_slot();
    ActiveSequence& member = *slots_[slot];
    if (sample > 0) {
      member.sequence = leader.sequence;
      member.sequence.slot = slot;
      member.sequence.order = order_++;
      member.sequence.sample = sample;
      member.meter = leader.meter;
      member.unheard = group.sequences.beams;
    }
    member.group = &group;
    group.sequences.members.push_back(&member.sequence);
  }
  ++groups_;
  ++sharing_.requests;
  sharing_.sequences += count;
  sequences_ += count - 1;
  for (Sequence* member : group.sequences.members) {
    if (config_.shares_samples) {
      member->group = &group.sequences;
    } else {
      scheduler_->add(*member);
    }
  }
  if (config_.shares_samples) scheduler_->add(leader.sequence);
}

void Replica::end_step(SimTime now) {
  SIM_CHECK(!in_flight_.empty(), "a step ends that was not begun");
  if (run_.active) return end_step_of_run(now);
  std::unique_ptr<ReplicaStep> step = take_ended();
  SIM_CHECK(step->end == now, "steps end in order and on time");
  ++steps_;
  ends_sum_ += static_cast<std::uint64_t>(now.ns());
  ends_by_step_ += steps_ * static_cast<std::uint64_t>(now.ns());
  advance_ledger(*step, now);
  complete(*step);
  propose_drafts(*step);
  if (step->record.prefill_tokens > 0) credit_prefill(*step, now);
  emit_tokens(update_, now);
  const StepRecord& record = complete_record(*step, steps_ - 1);
  if (tells_facts()) tell_step(*step, record);
  for (Observer* o : step_observers_) o->on_step(record);
  last_step_end_ = now;
  if (step->plan.decodes.sequences > 0 || !step->plan.gathered.empty()) last_gathered_end_ = now;
  depart_finished(now);
  spare_steps_.push_back(std::move(step));
}

std::unique_ptr<ReplicaStep> Replica::take_ended() {
  std::unique_ptr<ReplicaStep> step = std::move(in_flight_.front());
  in_flight_.erase(in_flight_.begin());
  return step;
}

void Replica::complete(const ReplicaStep& step) {
  update_.clear();
  verify_drafts(step);
  scheduler_->complete(step.plan, result_, update_);
  sharing_.forks += update_.dropped_beams;
  sharing_.drops += update_.dropped_beams;
}

void Replica::depart_finished(SimTime now) {
  for (Sequence* sequence : update_.finished) {
    ActiveSequence& a = active(*sequence);
    note_scattered(a);
    depart(a, now, false, reason_text(sequence->finish_reason));
  }
  may_plan_ = true;
  if (!update_.finished.empty()) check_conservation();
}

void Replica::advance_ledger(const ReplicaStep& step, SimTime now) {
  // Steps that overlap in a pipeline move the clock by less than their duration; what is not GPU
  // time of this step is the host's.
  const SimTime elapsed = now - ledger_at_;
  const SimTime gpu = std::min(SimTime::from_us(step.cost.gpu_us), elapsed);
  SimTime decode = gpu;
  if (step.decode_only_us < step.cost.gpu_us) {
    decode = SimTime::from_us(gpu.us() * step.decode_only_us / step.cost.gpu_us);
  }
  ledger_.decode += decode;
  ledger_.interference += gpu - decode;
  ledger_.host += elapsed - gpu;
  ledger_at_ = now;
}

void Replica::credit_prefill(const ReplicaStep& step, SimTime now) {
  for (const ScheduledSequence& entry : step.plan.scheduled) {
    if (!entry.prefill || !keeps_chunk(entry)) continue;
    Sequence& s = *entry.sequence;
    ActiveSequence& a = active(s);
    a.prefilled_tokens = entry.computed_before + entry.num_tokens;
    const SimTime own = own_share(step, entry);
    a.meter.prefilled(now, ledger_, own, a.prefilled_tokens, s.output_tokens > 0);
    on_followers(entry, [&](ActiveSequence& follower) {
      follower.prefilled_tokens = a.prefilled_tokens;
      follower.meter.prefilled(now, ledger_, own, a.prefilled_tokens, s.output_tokens > 0);
    });
  }
}

void Replica::verify_drafts(const ReplicaStep& step) {
  result_.accepted_drafts.clear();
  if (!speculation_) return;
  for (const ScheduledSequence& entry : step.plan.scheduled) {
    const bool verifies = entry.draft_tokens > 0;
    result_.accepted_drafts.push_back(
        verifies ? speculation_->accepted(*entry.sequence, entry.draft_tokens) : 0);
  }
}

// Drafts follow sampling: a sequence in its first step after prefill already carries some.
void Replica::propose_drafts(const ReplicaStep& step) {
  if (!speculation_ || config_.scheduler_assumes_drafts) return;
  const auto batch = static_cast<std::int32_t>(step.plan.batch());
  for (const StepUpdate::Emission& emission : update_.emitted) {
    Sequence& s = *emission.sequence;
    if (s.takes_drafts()) s.draft_tokens = speculation_->proposal(s, batch);
  }
}

// It is told of one by one again: catches up with the steps that have ended.
void Replica::note_scattered(ActiveSequence& a) {
  if (a.gathered_from < steps_) {
    a.max_itl = std::max(a.max_itl, longest_gap_.since(a.gathered_from));
    a.last_token = last_gathered_end_;
  }
  a.gathered_from = ActiveSequence::kNotGathered;
}

void Replica::emit_tokens(const StepUpdate& update, SimTime now) {
  const SimTime usual = now - last_step_end_, gathered = now - last_gathered_end_;
  std::int64_t tokens = update.gathered_tokens, usual_gaps = 0;
  if (tokens > 0) longest_gap_.add(steps_ - 1, gathered);
  if (gathered == usual) usual_gaps = tokens;  // else some step in between was prefill only
  for (const StepUpdate::Emission& emission : update.emitted) {
    ActiveSequence& a = active(*emission.sequence);
    if (!a.unheard) tokens += emission.tokens;
    const bool first = a.sequence.output_tokens == emission.tokens;
    if (first) {
      a.first_token = now;
    } else if (!a.unheard) {
      const SimTime gap = now - a.last_token;
      a.max_itl = std::max(a.max_itl, gap);
      if (gap == usual) {
        ++usual_gaps;
      } else {
        for (Observer* o : step_observers_) o->on_token_gaps(gap, 1, now);
      }
    }
    a.last_token = now;
    const bool back = a.sequence.state == SequenceState::kRunning || a.sequence.finished();
    a.meter.token(now, ledger_, back);
    if (first && tells_facts()) tell_first_token(a, now);
  }
  for (Observer* o : step_observers_) {
    if (usual_gaps > 0) o->on_token_gaps(usual, usual_gaps, now);
    if (gathered != usual && update.gathered_tokens > 0) {
      o->on_token_gaps(gathered, update.gathered_tokens, now);
    }
    if (tokens > 0) o->on_tokens(tokens, now);
  }
}

void Replica::depart(ActiveSequence& a, SimTime now, bool failed, std::string reason) {
  const Sequence& s = a.sequence;
  const Request& request = *s.request;
  --sequences_;
  room_changed_ = true;
  a.meter.finish(now, ledger_);
  if (s.keeps_kv && !failed) return hand_over(a, now);
  RequestRecord record = record_of(a, config_.id, now, failed, std::move(reason));
  if (a.group != nullptr && !a.group->end(record, s.sample)) return;  // others of its request go on
  SimTime sum;
  for (SimTime p : record.split) sum += p;
  SIM_CHECK(sum == now - record.arrival, "INV-3: the latency parts sum to E2EL");
  for (Observer* o : observers_) o->on_finish(record);
  Departure& departure = departures_.emplace_back();  // not copied: core/in_place.h
  departure.request = request.id;
  departure.session = request.session_id;
  departure.prompt_tokens = request.prompt_tokens;
  ++departed_;
  // A sequence that ends unforeseen may be part of a step in flight: its place is kept until then.
  const std::uint64_t after_steps = steps_ + in_flight_.size();
  if (a.group == nullptr) {
    leaving_slots_.push_back({s.slot, after_steps});
    return;
  }
  --groups_;
  for (const Sequence* m : a.group->sequences.members) leaving_slots_.push_back({m->slot, after_steps});
}

std::vector<Request> Replica::abandon() {
  SIM_CHECK(!run_.active, "a replica is abandoned in a run of steps");
  std::vector<bool> empty(slots_.size());
  for (const std::uint32_t slot : free_slots_) empty[slot] = true;
  for (const LeavingSlot& leaving : leaving_slots_) empty[leaving.slot] = true;
  std::vector<ActiveSequence*> inside;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Sequence& sequence = slots_[i]->sequence;
    const bool handed_over = sequence.keeps_kv && sequence.finished();
    if (!empty[i] && sequence.sample == 0 && !handed_over) inside.push_back(slots_[i].get());
  }
  SIM_CHECK(std::ssize(inside) == outstanding(), "INV-1: all that had not left are found");
  std::sort(inside.begin(), inside.end(), [](const ActiveSequence* a, const ActiveSequence* b) {
    return a->sequence.order < b->sequence.order;
  });
  std::vector<Request> requests;
  for (ActiveSequence* a : inside) requests.push_back(std::move(a->request));
  in_flight_.clear();
  coming_ = keeping_ = 0;
  departed_ = submitted_;
  return requests;
}

SimTime Replica::busy(SimTime now) const {
  const SimTime settled = ledger_.decode + ledger_.interference + ledger_.host - idle_;
  return in_flight_.empty() ? settled : settled + (now - ledger_at_);
}

std::uint64_t Replica::timeline() const { return combine64(ends_sum_, ends_by_step_); }

void Replica::check_conservation() const {
  SIM_CHECK(sequences_ == scheduler_->waiting() + scheduler_->running(),
            "INV-1: arrived = waiting + running + finished + rejected");
}

void Replica::check_drained() const {
  check_conservation();
  SIM_CHECK(outstanding() == 0 && in_flight_.empty(), "INV-6: every request has left");
  SIM_CHECK(keeping_ == 0 && coming_ == 0, "INV-6: every transfer has ended");
  scheduler_->check_kv();
  SIM_CHECK(scheduler_->kv_usage().held_blocks == 0, "INV-2: nothing is held at the end");
}

}  // namespace headway
