#include "sim/scheduling/batch_scheduler.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/kv/contiguous.h"
#include "sim/kv/counted_kv.h"
#include "sim/kv/ring_kv.h"
#include "sim/scheduling/speculation_support.h"

namespace headway {

std::unique_ptr<KvStore> make_kv_store(const SchedulerConfig& config, std::string_view own) {
  const EngineOptions& engine = config.engine;
  const std::string name = engine.kv_allocator.empty() ? std::string(own) : engine.kv_allocator;
  if (name == "paged" && config.kv.plain()) {
    return std::make_unique<CountedKv>(config.num_blocks, engine.block_size);
  }
  if (name == "paged") return std::make_unique<RingKv>(config.num_blocks, config.kv);
  const auto rule = parse_reservation_rule(name);
  if (!rule) {
    throw InputError(
        {.place = "engine.kv_allocator",
         .found = "\"" + name + "\"",
         .expected = one_of(name, {"paged", "reserve-max", "reserve-exact", "reserve-pow2"})});
  }
  return std::make_unique<ContiguousKv>(config.num_blocks, engine.block_size, engine.max_model_len,
                                        *rule, config.kv);
}

void require_paged_kv(const EngineOptions& engine) {
  if (engine.kv_allocator.empty() || engine.kv_allocator == "paged") return;
  throw InputError({.place = "engine.kv_allocator",
                    .found = "\"" + engine.kv_allocator + "\"",
                    .expected = "\"paged\" (scheduler " + engine.scheduler +
                                " knows no other; static and orca do)"});
}

std::unique_ptr<KvStore> make_paged_kv(const SchedulerConfig& config) {
  require_paged_kv(config.engine);
  return make_kv_store(config, "paged");
}

BatchScheduler::BatchScheduler(const SchedulerConfig& config, std::unique_ptr<KvStore> kv)
    : engine_(config.engine),
      kv_(std::move(kv)),
      gathers_(config.gather_decodes && config.batches_in_flight == 1 && config.kv.plain()) {
  refuse_speculation(config);
  spare_blocks_ =
      static_cast<std::int64_t>(engine_.watermark * static_cast<double>(config.num_blocks));
}

void BatchScheduler::add(Sequence& sequence) {
  if (sequence.slot >= side_.size()) side_.resize(sequence.slot + 1);
  side_[sequence.slot] = {};
  sequence.state = SequenceState::kWaiting;
  enqueue(sequence);
  ++waiting_count_;
}

void BatchScheduler::abort(Sequence& sequence) {
  if (sequence.finished()) return;
  if (sequence.state == SequenceState::kRunning) {
    if (decodes_.contains(sequence)) scatter(sequence);
    running_.erase(std::find(running_.begin(), running_.end(), &sequence));
    kv_->release(sequence.slot);
    if (running_.empty()) on_idle();
  } else {
    if (!leave_received(sequence)) dequeue(sequence);
    --waiting_count_;
  }
  finish(sequence, FinishReason::kAborted);
}

void BatchScheduler::plan(SimTime now, StepPlan& plan) {
  plan.clear();
  if (!received_.empty()) join_received();
  decide(now, plan);
  if (gathers_ && decode_next(plan)) gather(plan);
  if (running_.empty() && !plan.preempted.empty()) on_idle();
  // A sequence that had to yield to itself may be admitted again at once.
  const bool acted = !plan.preempted.empty() || !plan.rejected.empty();
  if (plan.empty() && acted && waiting_count_ > 0) plan.wake_at = std::min(plan.wake_at, now);
}

void BatchScheduler::complete(const StepPlan& plan, const StepResult&, StepUpdate& update) {
  update.clear();
  // As they stand in the batch: prompts, gathered decodes, other decodes.
  std::span<const ScheduledSequence> prompts;
  std::span<const ScheduledSequence> rest = plan.scheduled;
  if (plan.decodes.sequences > 0 || decodes_by_arrival()) {
    const auto decode = [](const ScheduledSequence& entry) { return !entry.prefill; };
    prompts = {rest.begin(), std::find_if(rest.begin(), rest.end(), decode)};
    rest = rest.subspan(prompts.size());
  }
  if (plan.decodes.sequences > 0) on_steps_together(1);
  bool ended = !prompts.empty() && complete_entries(prompts, update);
  const auto finished_prompts = std::ssize(update.finished);
  if (plan.decodes.sequences > 0) complete_gathered(update);
  if (!rest.empty() && complete_entries(rest, update)) ended = true;
  if (update.finished.empty()) return;
  if (ended) {
    running_.erase(std::remove_if(running_.begin() + decodes_.size(), running_.end(),
                                  [](const Sequence* s) { return s->finished(); }),
                   running_.end());
  }
  if (decodes_by_arrival()) {
    std::sort(update.finished.begin() + finished_prompts, update.finished.end(),
              [](const Sequence* a, const Sequence* b) { return a->order < b->order; });
  }
  if (running_.empty()) on_idle();
}

// Whether one of them has ended.
bool BatchScheduler::complete_entries(std::span<const ScheduledSequence> entries,
                                      StepUpdate& update) {
  bool ended = false;
  const bool gathers = gathers_;
  for (const ScheduledSequence& entry : entries) {
    Sequence& sequence = *entry.sequence;
    if (sequence.finished()) continue;  // aborted while its step ran
    Side& side = side_[sequence.slot];
    side.in_flight = false;
    if (!entry.samples) continue;
    ++sequence.output_tokens;
    update.emitted.push_back({&sequence, 1});
    on_emitted(sequence, 1);
    if (sequence.output_tokens >= side.output_goal) {
      end_answer(sequence, update);
      ended = true;
    } else if (gathers && decodes_.contains(sequence)) {
      side.told = true;
      on_gathered(sequence);
    }
  }
  return ended;
}

void BatchScheduler::end_answer(Sequence& sequence, StepUpdate& update) {
  const bool stopped = sequence.output_tokens == sequence.output_target &&
                       sequence.output_target < sequence.max_tokens;
  if (sequence.keeps_kv) {
    ++kept_;
  } else {
    release_finished(sequence);
  }
  finish(sequence, stopped ? FinishReason::kStop : FinishReason::kLength);
  update.finished.push_back(&sequence);
}

void BatchScheduler::finish(Sequence& sequence, FinishReason reason) {
  sequence.state = SequenceState::kFinished;
  sequence.finish_reason = reason;
}

std::int32_t BatchScheduler::output_goal(const Sequence& sequence) const {
  return std::min({sequence.output_target, sequence.max_tokens,
                   engine_.max_model_len - sequence.prompt_tokens});
}

AdmissionDemand BatchScheduler::demand(const Sequence& sequence) const {
  return {sequence.prompt_tokens, output_goal(sequence), sequence.known_tokens()};
}

bool BatchScheduler::can_admit(const Sequence& sequence) const {
  return kv_->can_admit(demand(sequence), spare_blocks_);
}

std::string BatchScheduler::why_never(const Sequence& sequence) const {
  if (sequence.prompt_tokens >= engine_.max_model_len) {
    return "prompt of " + std::to_string(sequence.prompt_tokens) +
           " tokens leaves no room for an answer in max_model_len " +
           std::to_string(engine_.max_model_len);
  }
  AdmissionDemand need = demand(sequence);
  bool fits = kv_->ever_fits(need, spare_blocks_);
  if (fits && decode_needs_free_block() && need.output_tokens > 1) {
    // The last decode finds all but its own token stored, and asks for a free block besides.
    need.tokens_now = need.prompt_tokens + need.output_tokens - 2;
    fits = kv_->ever_fits(need, 1);
  }
  if (fits) return {};
  const KvUsage usage = kv_->usage();
  return "needs KV for " + std::to_string(need.prompt_tokens) + " prompt and " +
         std::to_string(need.output_tokens) + " output tokens, more than the cache of " +
         std::to_string(usage.total_blocks) + " blocks of " + std::to_string(usage.block_size) +
         " tokens can give one sequence";
}

Sequence* BatchScheduler::next_waiting(SimTime now, StepPlan& plan) {
  while (Sequence* sequence = head(now)) {
    std::string reason = why_never(*sequence);
    if (reason.empty()) return sequence;
    reject(*sequence, std::move(reason), plan);
  }
  return nullptr;
}

Sequence* BatchScheduler::next_in_seats(SimTime now, StepPlan& plan) {
  if (running() < engine_.max_num_seqs) return next_waiting(now, plan);
  if (waiting_count_ == 0) return nullptr;
  if (const Sequence* first = head(now)) plan.hold_back(*first, HeldBack::kSeats);
  return nullptr;
}

void BatchScheduler::reject(Sequence& sequence, std::string reason, StepPlan& plan) {
  dequeue(sequence);
  --waiting_count_;
  finish(sequence, FinishReason::kRejected);
  plan.rejected.push_back({&sequence, std::move(reason)});
}

void BatchScheduler::admit(Sequence& sequence, std::int32_t tokens, StepPlan& plan) {
  const bool resumed = sequence.state == SequenceState::kPreempted;
  dequeue(sequence);
  --waiting_count_;
  kv_->admit(sequence.slot, demand(sequence));
  sequence.state = SequenceState::kRunning;
  side_[sequence.slot].prefill_target = sequence.known_tokens();
  side_[sequence.slot].output_goal = output_goal(sequence);
  running_.push_back(&sequence);
  schedule_chunk(sequence, tokens, resumed ? ScheduledKind::kResumed : ScheduledKind::kNew, plan);
}

void BatchScheduler::schedule_chunk(Sequence& sequence, std::int32_t tokens, ScheduledKind kind,
                                    StepPlan& plan) {
  SIM_CHECK(tokens >= 1 && tokens <= prefill_left(sequence));
  kv_->store(sequence.slot, sequence.computed_tokens + tokens);
  schedule(sequence, tokens, kind, true, plan);
}

bool BatchScheduler::try_decode(Sequence& sequence, StepPlan& plan) {
  if (decode_needs_free_block() && kv_->free_blocks() == 0) return false;
  if (!kv_->store(sequence.slot, sequence.computed_tokens + 1)) return false;
  const bool first = std::exchange(sequence.received, false);
  schedule(sequence, 1, first ? ScheduledKind::kNew : ScheduledKind::kRunning, false, plan);
  return true;
}

void BatchScheduler::schedule(Sequence& sequence, std::int32_t tokens, ScheduledKind kind,
                              bool prefill, StepPlan& plan) {
  const std::int32_t before = sequence.computed_tokens;
  sequence.computed_tokens += tokens;
  side_[sequence.slot].in_flight = true;
  plan.scheduled.push_back({.sequence = &sequence,
                            .kind = kind,
                            .computed_before = before,
                            .num_tokens = tokens,
                            .samples = sequence.computed_tokens == sequence.known_tokens(),
                            .prefill = prefill,
                            .preemptions = sequence.preemptions});
  plan.total_tokens += tokens;
}

void BatchScheduler::preempt(Sequence& sequence, StepPlan& plan) {
  kv_->release(sequence.slot);
  sequence.state = SequenceState::kPreempted;
  sequence.computed_tokens = 0;
  ++sequence.preemptions;
  sequence.received = false;
  on_preempted(sequence);
  enqueue(sequence);
  ++waiting_count_;
  plan.preempted.push_back(&sequence);
}

void BatchScheduler::prompts_first(StepPlan& plan) {
  std::stable_partition(plan.scheduled.begin(), plan.scheduled.end(),
                        [](const ScheduledSequence& item) { return item.prefill; });
}

std::vector<const Sequence*> BatchScheduler::waiting_sequences() const {
  std::vector<const Sequence*> all;
  line_.append_to(all);
  return all;
}

void BatchScheduler::check_kv() const {
  kv_->check();
  const KvUsage usage = kv_->usage();
  std::int64_t held = 0;
  for (const Sequence* sequence : running_) {
    SIM_CHECK(kv_->blocks_of(sequence->slot) > 0, "a running sequence holds no KV");
    held += kv_->blocks_of(sequence->slot);
  }
  SIM_CHECK(held <= usage.held_blocks);
  const std::int64_t between = expected_ + kept_ + std::ssize(received_);
  SIM_CHECK(!running_.empty() || usage.held_blocks == 0 || between > 0, "INV-2: KV held by nobody");
}

}  // namespace headway
