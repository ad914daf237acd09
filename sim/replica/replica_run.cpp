// Skipping ahead: runs of decode steps that differ in nothing but the length of the sequences are
// laid out at once and settled when something asks (INV-8: the same answers as step by step).
#include <algorithm>
#include <array>

#include "sim/core/errors.h"
#include "sim/metrics/decode_run.h"
#include "sim/replica/replica.h"

namespace headway {
namespace {

// How far ahead a run is laid out at first: something cuts it off before long, as a rule. Going on costs
// about as much as a hundred steps laid out in vain, so that one run in six should have to: that much
// farther where one had to, and nearer where one was cut off. Twice as far each time that it goes on.
constexpr std::int64_t kNearestHorizon = 16;
constexpr std::int64_t kFarthestHorizon = 128;  // at first
constexpr std::int64_t kLongestHorizon = 512;

// ends[i] = the end before it + the nearest nanosecond of us[i] (SimTime::from_us) + host.
void lay_ends(SimTime end, SimTime host, const double* us, SimTime* ends, std::size_t n) {
  // Adding this leaves a double no digit below the point; a tie goes to the even neighbour.
  constexpr double kWhole = 0x1.8p52;
  constexpr std::size_t kBlock = 128;
  std::array<double, kBlock> ns;
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t here = std::min(kBlock, n - i);
    for (std::size_t k = 0; k < here; ++k) {
      const double exact = us[i + k] * 1e3;
      const double even = (exact + kWhole) - kWhole;
      ns[k] = even + (exact - even == 0.5 ? 1.0 : 0.0);
    }
    for (std::size_t k = 0; k < here; ++k) {
      ends[i + k] = end += SimTime::from_ns(static_cast<std::int64_t>(ns[k])) + host;
    }
  }
}

SimTime longest_gap_of(std::span<const SimTime> ends) {
  SimTime longest;
  for (std::size_t i = 1; i < ends.size(); ++i) longest = std::max(longest, ends[i] - ends[i - 1]);
  return longest;
}

bool same_sequences(const StepPlan& a, const StepPlan& b) {
  return a.decodes.sequences == b.decodes.sequences && a.gathered.empty() && b.gathered.empty() &&
         std::equal(a.scheduled.begin(), a.scheduled.end(), b.scheduled.begin(), b.scheduled.end(),
                    [](const ScheduledSequence& x, const ScheduledSequence& y) {
                      return x.sequence == y.sequence && x.preemptions == y.preemptions;
                    });
}

}  // namespace

void Replica::begin_run() { begin_run(run_.first_horizon); }

void DecodeRun::lay_out(const CostModel& model, SimTime host, std::int64_t in_flight) {
  const std::int64_t all = steps + in_flight;
  model.price_run(first, all, cost);
  const auto laid = static_cast<std::size_t>(in_flight);
  lay_ends(ends[laid - 1], host, cost.gpu_us.data() + laid, ends.data() + laid, ends.size() - laid);
  // The promise counts from the newest step in flight, the run from the oldest.
  const auto period = static_cast<std::int64_t>(repeats.new_blocks.size());
  blocks_taken.resize(period == 0 ? 0 : repeats.new_blocks.size() + 1);
  if (period == 0) return;
  const auto from = repeats.new_blocks.begin() + (period - (in_flight - 1) % period) % period;
  std::int64_t taken = 0;
  std::int64_t* out = blocks_taken.data();
  *out = 0;
  for (auto blocks = from; blocks != repeats.new_blocks.end(); ++blocks) *++out = taken += *blocks;
  for (auto blocks = repeats.new_blocks.begin(); blocks != from; ++blocks) *++out = taken += *blocks;
}

std::int64_t DecodeRun::taken_by(std::int64_t step) const {
  return DecodeRunRecord::taken_by(blocks_taken, step);
}

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
  run_.ends.resize(static_cast<std::size_t>(run_.steps + depth));
  for (std::int64_t i = 0; i < depth; ++i) {
    run_.ends[static_cast<std::size_t>(i)] = in_flight_[static_cast<std::size_t>(i)]->end;
  }
  run_.lay_out(*cost_, newest.host, depth);
  run_.active = note_given_back();
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
  if (!run_.active) return;
  const std::int64_t ended = std::lower_bound(run_.ends.begin(), run_.ends.end(), now) -
                             run_.ends.begin();
  SIM_CHECK(ended <= run_.steps, "a run of steps is caught up with after its end");
  run_.first_horizon = std::max(run_.first_horizon - run_.first_horizon / 16, kNearestHorizon);
  if (run_.ends[static_cast<std::size_t>(ended)] == now) {
    end_run(ended);
  } else {
    settle_run(ended, ended);
  }
}

// A step of the run ends now, and nobody has looked at those before it.
void Replica::end_step_of_run(SimTime now) {
  if (run_.goes_on && run_.ends[static_cast<std::size_t>(run_.steps - 1)] == now) {
    settle_run(run_.steps, run_.steps);
    if (run_.horizon == run_.first_horizon) {
      run_.first_horizon = std::min(run_.first_horizon * 3 / 2, kFarthestHorizon);
    }
    begin_run(std::min(2 * run_.horizon, kLongestHorizon));
  } else {
    end_run(run_.steps);
  }
}

// The run is over with the step that stands behind `steps` others: it ends now, and is the first whose
// end the scheduler does not know.
void Replica::end_run(std::int64_t steps) {
  settle_run(steps + 1, steps);
  std::unique_ptr<ReplicaStep> step = take_ended();
  complete(*step);
  depart_finished(last_step_end_);
  spare_steps_.push_back(std::move(step));
}

// The first `ended` steps of the run have ended: what each would have done, once for all of them. After
// `repeated` of them the scheduler made its plan again.
void Replica::settle_run(std::int64_t ended, std::int64_t repeated) {
  run_.active = false;
  if (ended == 0) return;
  const auto n = static_cast<std::size_t>(ended);
  ReplicaStep& front = *in_flight_.front();
  DecodeRunRecord record;
  record.first = complete_record(front, config_.id, steps_);
  record.ends = {run_.ends.data(), n};
  record.gpu_us = {run_.cost.gpu_us.data(), n};
  record.from = {run_.cost.from.data(), n};
  record.changing_class = static_cast<std::size_t>(run_.cost.changing);
  record.fixed_us = run_.cost.fixed.gpu_us;
  record.fixed_class_us = run_.cost.fixed.by_class_us;
  record.fixed_coverage_us = run_.cost.fixed.coverage_us;
  record.blocks_taken = run_.blocks_taken;
  record.block_size = front.kv.block_size;
  record.given_back = run_.given_back;

  record.ends_after_first_ns = note_ends(record.ends);
  const SimTime longest = longest_gap_of(record.ends);
  advance_ledger(front, run_.ends[0]);
  const bool gathered = front.plan.decodes.sequences > 0;  // all of them
  if (gathered) {
    longest_gap_.add(steps_ + n - 1, std::max(longest, run_.ends[0] - last_gathered_end_));
  }
  emit_run(front.plan, longest, run_.ends[0], record.ends.back());
  const SimTime host = front.host * (ended - 1);
  ledger_.decode += record.ends.back() - run_.ends[0] - host;
  ledger_.host += host;
  ledger_at_ = record.ends.back();
  for (Observer* o : step_observers_) o->on_decode_run(record);
  scheduler_->repeat(in_flight_.back()->plan, repeated);
  steps_ += n;
  skipped_ += n;
  last_step_end_ = record.ends.back();
  if (gathered) last_gathered_end_ = last_step_end_;
  move_in_flight(repeated);
}

// Every sequence has had a token at the end of each step; the first may have followed a longer gap.
void Replica::emit_run(const StepPlan& plan, SimTime longest, SimTime first_end, SimTime last_end) {
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
    a.max_itl = std::max({a.max_itl, gap, longest});
    a.last_token = last_end;
    a.meter.token(first_end, ledger_, true);
  }
  if (usual_gaps == 0) return;
  for (Observer* o : step_observers_) o->on_token_gaps(usual, usual_gaps, first_end);
}

// The steps in flight are now those that stood `steps` further on in the run.
void Replica::move_in_flight(std::int64_t steps) {
  if (steps == 0) return;
  const KvUsage kv = in_flight_.front()->kv;
  const std::int64_t running = in_flight_.back()->record.running;
  const std::int64_t depth = std::ssize(in_flight_);
  for (std::int64_t m = 0; m < depth; ++m) {
    const std::int64_t i = steps + m;
    ReplicaStep& step = *in_flight_[static_cast<std::size_t>(m)];
    for (ScheduledSequence& entry : step.plan.scheduled) {
      entry.computed_before += static_cast<std::int32_t>(steps);
    }
    GatheredDecodes& decodes = step.plan.decodes;
    decodes.kv_tokens += steps * decodes.sequences;
    decodes.kv_max += static_cast<std::int32_t>(steps);
    step.cost = run_.cost.at(static_cast<std::size_t>(i));
    step.decode_only_us = step.cost.gpu_us;
    step.record.running = running;
    step.start = run_.ends[static_cast<std::size_t>(i - 1)];
    step.end = run_.ends[static_cast<std::size_t>(i)];
    const std::int64_t taken = run_.taken_by(i) - run_.given_back.blocks;
    step.kv = kv;
    step.kv.held_blocks += taken;
    step.kv.free_blocks -= taken;
    step.kv.tokens_stored += i * step.record.decode_tokens - run_.given_back.tokens;
  }
  last_start_ = in_flight_.back()->start;
  const std::int64_t newest = steps + depth - 1;
  shape_ = run_.first;
  shape_.decode_kv_tokens += newest * shape_.decode_sequences;
  shape_.decode_kv_max += static_cast<std::int32_t>(newest);
}

}  // namespace headway
