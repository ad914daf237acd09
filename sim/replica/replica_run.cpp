// Skipping ahead: runs of decode steps that differ in nothing but the length of the sequences are
// laid out at once and settled when something asks (INV-8: the same answers as step by step).
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/core/in_place.h"
#include "sim/replica/decode_run.h"
#include "sim/replica/replica.h"

namespace headway {
namespace {

// How far ahead a run is laid out at first: something cuts it off before long, as a rule. Going on costs
// about as much as a hundred steps laid out in vain, so that one run in six should have to: that much
// farther where one had to, and nearer where one was cut off. Twice as far each time that it goes on.
constexpr std::int64_t kNearestHorizon = 16;
constexpr std::int64_t kFarthestHorizon = 128;  // at first
constexpr std::int64_t kLongestHorizon = 512;

bool same_sequences(const StepPlan& a, const StepPlan& b) {
  return a.decodes.sequences == b.decodes.sequences && a.gathered.empty() && b.gathered.empty() &&
         std::equal(a.scheduled.begin(), a.scheduled.end(), b.scheduled.begin(), b.scheduled.end(),
                    [](const ScheduledSequence& x, const ScheduledSequence& y) {
                      return x.sequence == y.sequence && x.preemptions == y.preemptions;
                    });
}

}  // namespace

void Replica::begin_run() { begin_run(run_.first_horizon); }

// Whether the steps in flight are decodes of one and the same batch, with nothing between them.
bool Replica::steps_alike() const {
  for (const auto& step : in_flight_) {
    if (!step->only_decodes) return false;
  }
  for (std::size_t i = 1; i < in_flight_.size(); ++i) {
    const ReplicaStep& a = *in_flight_[i - 1];
    const ReplicaStep& b = *in_flight_[i];
    if (a.record.waiting != b.record.waiting || !same_sequences(a.plan, b.plan)) return false;
  }
  return true;
}

void Replica::begin_run(std::int64_t horizon) {
  const std::int64_t depth = std::ssize(in_flight_);
  const bool may_skip = config_.skip_ahead && speculation_ == nullptr && groups_ == 0 &&
                        config_.pipeline_parallel_size == 1 && depth == config_.batches_in_flight;
  if (!may_skip || !steps_alike()) return;
  const ReplicaStep& newest = *in_flight_.back();
  scheduler_->repeats(newest.plan, run_.repeats);
  if (run_.repeats.steps < 1) return;
  run_.horizon = horizon;
  run_.steps = std::min(run_.repeats.steps, horizon);
  run_.goes_on = run_.steps < run_.repeats.steps;
  run_.first = shape_;  // the newest step's: it was priced last
  run_.first.decode_kv_tokens -= (depth - 1) * shape_.decode_sequences;
  run_.first.decode_kv_max -= static_cast<std::int32_t>(depth - 1);
  ends_.clear();
  for (const auto& step : in_flight_) ends_.push_back(step->end);
  DecodeRunCost& cost = reads_runs_ ? run_.cost : room_->cost;
  run_.active = run_.lay_out(*cost_, newest.host, ends_, cost) && note_given_back();
}

// What sequences that have just ended gave back is missing from the plans after the oldest. Where
// something left between the other plans, the run has to wait a step.
bool Replica::note_given_back() {
  const ReplicaStep& oldest = *in_flight_.front();
  run_.given_back = {};
  for (std::int64_t i = 1; i < std::ssize(in_flight_); ++i) {
    const ReplicaStep& step = *in_flight_[static_cast<std::size_t>(i)];
    const GivenBack now{
        oldest.record.running - step.record.running,
        oldest.kv.held_blocks + run_.taken_by(i) - step.kv.held_blocks,
        oldest.kv.tokens_stored + i * oldest.record.decode_tokens - step.kv.tokens_stored};
    if (i == 1) run_.given_back = now;
    if (now != run_.given_back || now.running < 0) return false;
    if (now.running == 0 && now != GivenBack()) return false;
    if (now.running > 0 && step.kv.largest_free_run > 0) return false;  // its length is not told
  }
  return true;
}

void Replica::catch_up(SimTime now) {
  advance(now, false);
  if (!run_.active) return;
  const RunPart ended = run_.part(run_.steps + 1, now);
  SIM_CHECK(ended.steps <= run_.steps, "a run of steps is caught up with after its end");
  run_.first_horizon = std::max(run_.first_horizon - run_.first_horizon / 16, kNearestHorizon);
  const SimTime next = ended.last_end + run_.gap(ended.steps);  // of the first step: 0
  if (next == now) {
    end_run(ended.steps);
  } else {
    settle_run(ended, ended.steps);
  }
}

// A step of the run ends now, and nobody has looked at those before it.
void Replica::end_step_of_run(SimTime now) {
  SIM_CHECK(run_.due == now, "a run of steps ends on time");
  if (!run_.goes_on) return end_run(run_.steps);
  settle_run(run_.part(run_.steps, SimTime::never()), run_.steps);
  if (seldom_seen_) return;
  if (run_.horizon == run_.first_horizon) {
    run_.first_horizon = std::min(run_.first_horizon * 3 / 2, kFarthestHorizon);
  }
  begin_run(std::min(2 * run_.horizon, kLongestHorizon));
}

// The run is over with the step that stands behind `steps` others: it ends now, and is the first whose
// end the scheduler does not know.
void Replica::end_run(std::int64_t steps) {
  settle_run(run_.part(steps + 1, SimTime::never()), steps);
  std::unique_ptr<ReplicaStep> step = take_ended();
  complete(*step);
  depart_finished(last_step_end_);
  spare_steps_.push_back(std::move(step));
}

// The first steps of the run have ended: what each would have done, once for all of them. After
// `repeated` of them the scheduler made its plan again.
void Replica::settle_run(const RunPart& ended, std::int64_t repeated) {
  run_.active = false;
  if (ended.steps == 0) return;
  const auto n = static_cast<std::uint64_t>(ended.steps);
  ReplicaStep& front = *in_flight_.front();
  ends_sum_ += ended.ends_sum;
  ends_by_step_ += (steps_ + 1) * ended.ends_sum + ended.ends_by_step;
  advance_ledger(front, ended.first_end);
  const bool gathered = front.plan.decodes.sequences > 0;  // all of them
  if (gathered) {
    longest_gap_.add(steps_ + n - 1,
                     std::max(ended.longest_gap, ended.first_end - last_gathered_end_));
  }
  emit_run(front.plan, ended);
  const SimTime host = front.host * (ended.steps - 1);
  ledger_.decode += ended.last_end - ended.first_end - host;
  ledger_.host += host;
  ledger_at_ = ended.last_end;
  if (!step_observers_.empty()) tell_run(front, ended);
  scheduler_->repeat(in_flight_.back()->plan, repeated);
  steps_ += n;
  skipped_ += n;
  last_step_end_ = ended.last_end;
  if (gathered) last_gathered_end_ = last_step_end_;
  move_in_flight(ended, repeated);
}

void Replica::tell_run(ReplicaStep& front, const RunPart& ended) {
  DecodeRunRecord& record = room_->record;
  write_record(front, steps_, record.first);
  record.gaps_ns = {run_.gaps_ns.data(), static_cast<std::size_t>(ended.steps)};
  record.last_end = ended.last_end;
  record.prices = prices_.get();
  record.sampled_sequences = run_.first.sampled_sequences;
  record.decode_kv_max = run_.first.decode_kv_max;
  record.decode_kv_tokens = run_.first.decode_kv_tokens;
  const auto n = static_cast<std::uint64_t>(ended.steps);
  record.ends_after_first_ns = static_cast<std::int64_t>(
      ended.ends_sum - n * static_cast<std::uint64_t>(ended.first_end.ns()));
  record.blocks_taken = run_.blocks_taken;
  record.block_size = front.kv.block_size;
  record.given_back = run_.given_back;
  if (reads_runs_) {
    record.lay_out_ends(room_->laid_out);
    fill_in(run_.cost, record);
  }
  for (Observer* o : step_observers_) o->on_decode_run(record);
}

// Every sequence has had a token at the end of each step; the first may have followed a longer gap.
void Replica::emit_run(const StepPlan& plan, const RunPart& ended) {
  const SimTime first_end = ended.first_end;
  std::int64_t usual_gaps = plan.decodes.sequences;
  const SimTime usual = first_end - (usual_gaps > 0 ? last_gathered_end_ : last_step_end_);
  for (const ScheduledSequence& entry : plan.scheduled) {
    ActiveSequence& a = active(*entry.sequence);
    const SimTime gap = first_end - a.last_token;
    if (gap == usual) {
      ++usual_gaps;
    } else {
      for (Observer* o : step_observers_) o->on_token_gaps(gap, 1, first_end);
    }
    a.max_itl = std::max({a.max_itl, gap, ended.longest_gap});
    a.last_token = ended.last_end;
    a.meter.token(first_end, ledger_, true);
  }
  if (usual_gaps == 0) return;
  for (Observer* o : step_observers_) o->on_token_gaps(usual, usual_gaps, first_end);
}

// The steps in flight are now those that stood `steps` further on in the run; all before them have
// ended, or the first of them as well.
void Replica::move_in_flight(const RunPart& ended, std::int64_t steps) {
  if (steps == 0) return;
  const KvUsage kv = in_flight_.front()->kv;
  const std::int64_t running = in_flight_.back()->record.running;
  const std::int64_t depth = std::ssize(in_flight_);
  if (!reads_runs_) {
    run_.shape_at(steps, shape_);
    cost_->price_run(shape_, depth, room_->cost);
  }
  SimTime end = ended.steps > steps ? ended.last_end - run_.gap(steps) : ended.last_end;
  for (std::int64_t m = 0; m < depth; ++m) {
    const std::int64_t i = steps + m;
    ReplicaStep& step = *in_flight_[static_cast<std::size_t>(m)];
    for (ScheduledSequence& entry : step.plan.scheduled) {
      entry.computed_before += static_cast<std::int32_t>(steps);
    }
    GatheredDecodes& decodes = step.plan.decodes;
    decodes.kv_tokens += steps * decodes.sequences;
    decodes.kv_max += static_cast<std::int32_t>(steps);
    make_in_place(step.cost, [&] {
      return reads_runs_ ? run_.cost.at(static_cast<std::size_t>(i))
                         : room_->cost.at(static_cast<std::size_t>(m));
    });
    step.decode_only_us = step.cost.gpu_us;
    step.record.running = running;
    step.start = end;
    step.end = end += run_.gap(i);
    const std::int64_t taken = run_.taken_by(i) - run_.given_back.blocks;
    step.kv = kv;
    step.kv.held_blocks = kv.held_blocks + taken;
    step.kv.free_blocks = kv.free_blocks - taken;
    step.kv.tokens_stored =
        kv.tokens_stored + i * step.record.decode_tokens - run_.given_back.tokens;
  }
  last_start_ = in_flight_.back()->start;
  run_.shape_at(steps + depth - 1, shape_);
}

}  // namespace headway
