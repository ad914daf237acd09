#include "sim/scheduling/vllm_v0.h"

#include <algorithm>
#include <span>
#include <string>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scheduling/policies.h"
#include "sim/scheduling/speculation_support.h"

namespace headway {
namespace {

// Without chunks vLLM insists that a step can take the longest prompt.
std::int32_t resolve_budget(const EngineOptions& engine) {
  if (engine.enable_chunked_prefill) return engine.max_num_batched_tokens;
  return std::max(engine.max_num_batched_tokens, engine.max_model_len);
}

std::int32_t resolve_long_threshold(const EngineOptions& engine) {
  if (engine.long_prefill_token_threshold > 0 || engine.max_num_partial_prefills <= 1) {
    return engine.long_prefill_token_threshold;
  }
  return static_cast<std::int32_t>(engine.max_model_len * 0.04);
}

VllmV0Blocks::Options block_options(const SchedulerConfig& config) {
  const EngineOptions& engine = config.engine;
  const double watermark = engine.watermark * static_cast<double>(config.num_blocks);
  return {.num_gpu_blocks = config.num_blocks,
          .num_cpu_blocks = config.num_cpu_blocks,
          .block_size = engine.block_size,
          .watermark_blocks = static_cast<std::int64_t>(watermark),
          .prefix_caching = engine.enable_prefix_caching};
}

void validate(const SchedulerConfig& config) {
  const EngineOptions& engine = config.engine;
  refuse_speculation(config);
  if (config.batches_in_flight > 1) {
    throw InputError({.place = "engine.scheduler",
                      .found = "vllm-v0 with several batches in flight (pipeline parallelism)",
                      .expected = "one step in flight (vLLM V0 is modelled without them)"});
  }
  if (engine.policy != "fcfs" && engine.policy != "priority") {
    throw InputError({.place = "engine.policy",
                      .found = "\"" + engine.policy + "\"",
                      .expected = one_of(engine.policy, {"fcfs", "priority"})});
  }
  const std::int32_t share = engine.max_num_batched_tokens / engine.max_num_partial_prefills;
  const std::int32_t least = engine.enable_prefix_caching ? engine.block_size : 1;
  if (engine.enable_chunked_prefill && share < least) {
    throw InputError(
        {.place = "engine.max_num_batched_tokens",
         .found = std::to_string(engine.max_num_batched_tokens),
         .expected = "at least " + std::to_string(least) +
                     " for each of max_num_partial_prefills: vllm-v0 shares the budget "
                     "evenly, in whole blocks when prefix caching is on"});
  }
}

}  // namespace

VllmV0::VllmV0(const SchedulerConfig& config)
    : engine_(config.engine),
      token_budget_(resolve_budget(config.engine)),
      long_prefill_threshold_(resolve_long_threshold(config.engine)),
      kv_(block_options(config)),
      gathers_(config.gather_decodes && !config.engine.enable_prefix_caching &&
               config.engine.policy != "priority") {
  validate(config);
}

void VllmV0::add(Sequence& sequence) {
  if (sequence.slot >= prefill_target_.size()) prefill_target_.resize(sequence.slot + 1);
  prefill_target_[sequence.slot] = sequence.prompt_tokens;
  kv_.open(sequence.slot, *sequence.request);
  sequence.state = SequenceState::kWaiting;
  waiting_.push_back(&sequence);
}

void VllmV0::abort(Sequence& sequence) {
  if (sequence.finished()) return;
  if (decodes_.contains(sequence)) {
    decodes_.scatter(sequence);
    leave_gathered(sequence);
  }
  for (Queue* queue : {&waiting_, &running_, &swapped_}) std::erase(*queue, &sequence);
  kv_.free(sequence.slot);
  sequence.state = SequenceState::kFinished;
  sequence.finish_reason = FinishReason::kAborted;
}

void VllmV0::plan(SimTime now, StepPlan& plan) {
  plan.clear();
  swapped_in_.clear();
  swapped_out_.clear();
  recompute_.clear();
  swap_out_.clear();
  forced_ = 0;
  if (engine_.enable_chunked_prefill) {
    plan_chunked(now, plan);
  } else {
    plan_default(now, plan);
  }
  for (const ScheduledSequence& item : plan.scheduled) {
    kv_.use(item.sequence->slot, now, item.sequence->computed_tokens);
  }
  kv_.end_of_plan();
  if (gathers_) gather(plan);
  plan.swapped_in_blocks = std::ssize(swapped_in_);
  plan.swapped_out_blocks = std::ssize(swapped_out_);
  // Who had to yield to itself, or to one that is admitted next, may go on at once.
  const bool acted = !plan.preempted.empty() || !plan.rejected.empty();
  if (plan.empty() && acted && waiting() > 0) plan.wake_at = now;
}

void VllmV0::plan_default(SimTime now, StepPlan& plan) {
  Budget budget;
  budget.sequences = static_cast<std::int32_t>(running());
  Batch prefills;
  if (swapped_.empty()) prefills = schedule_prefills(now, budget, nullptr, plan);
  if (!prefills.empty()) {
    enter_running(prefills);
    append(prefills, plan);
    return;
  }
  if (engine_.policy == "priority") preempt_for_priority(budget, plan);
  plan_gathered(budget, nullptr, plan);
  const Batch decodes = schedule_running(budget, nullptr, plan);
  Batch swapped_in;
  if (recompute_.empty() && swap_out_.empty()) swapped_in = schedule_swapped(budget, plan);
  waiting_.insert(waiting_.begin(), recompute_.rbegin(), recompute_.rend());
  swapped_.insert(swapped_.end(), swap_out_.begin(), swap_out_.end());
  enter_running(decodes);
  enter_running(swapped_in);
  append(decodes, plan);
  append(swapped_in, plan);
}

// First in, first out within a queue; each victim goes to the front of the waiting queue.
void VllmV0::plan_chunked(SimTime now, StepPlan& plan) {
  Budget budget;
  PartialPrefills partial = count_partial_prefills();
  plan_gathered(budget, &partial, plan);
  const Batch ran = schedule_running(budget, &partial, plan);
  Batch swapped_in;
  if (recompute_.empty() && swap_out_.empty()) swapped_in = schedule_swapped(budget, plan);
  const Batch started = schedule_prefills(now, budget, &partial, plan);
  waiting_.insert(waiting_.begin(), recompute_.rbegin(), recompute_.rend());
  swapped_.insert(swapped_.end(), swap_out_.begin(), swap_out_.end());

  Batch decodes, ending, going_on, swapped_decodes, swapped_prefills;
  for (const ScheduledSequence& item : ran) {
    (!item.prefill ? decodes : item.samples ? ending : going_on).push_back(item);
  }
  for (const ScheduledSequence& item : swapped_in) {
    (item.prefill ? swapped_prefills : swapped_decodes).push_back(item);
  }
  enter_running(swapped_decodes);
  enter_running(swapped_prefills);
  enter_running(decodes);
  enter_running(ending);
  enter_running(going_on);
  enter_running(started);
  append(started, plan);
  for (const ScheduledSequence& item : ran) {  // in queue order, ending or not
    if (item.prefill) append({item}, plan);
  }
  append(swapped_prefills, plan);
  append(decodes, plan);
  append(swapped_decodes, plan);
}

void VllmV0::enter_running(const Batch& batch) {
  for (const ScheduledSequence& item : batch) running_.push_back(item.sequence);
}

void VllmV0::append(const Batch& batch, StepPlan& plan) {
  for (const ScheduledSequence& item : batch) {
    plan.scheduled.push_back(item);
    plan.total_tokens += item.num_tokens;
  }
}

void VllmV0::complete(const StepPlan& plan, const StepResult&, StepUpdate& update) {
  update.clear();
  // As they stand in the batch: prompts, gathered decodes, other decodes.
  std::span<const ScheduledSequence> rest = plan.scheduled;
  if (plan.decodes.sequences > 0) {
    const auto decode = [](const ScheduledSequence& item) { return !item.prefill; };
    const auto prompts = std::find_if(rest.begin(), rest.end(), decode) - rest.begin();
    complete_entries(rest.first(static_cast<std::size_t>(prompts)), update);
    rest = rest.subspan(static_cast<std::size_t>(prompts));
    complete_gathered(update);
  }
  complete_entries(rest, update);
  if (update.finished.empty()) return;
  // Blocks go back in the order of the running queue, which decides who gets which next.
  for (const Sequence* sequence : running_) {
    if (sequence->finished()) kv_.free(sequence->slot);
  }
  std::erase_if(running_, [](const Sequence* sequence) { return sequence->finished(); });
}

void VllmV0::complete_entries(std::span<const ScheduledSequence> entries, StepUpdate& update) {
  for (const ScheduledSequence& item : entries) {
    Sequence& sequence = *item.sequence;
    if (sequence.finished() || !item.samples) continue;
    ++sequence.output_tokens;
    update.emitted.push_back({&sequence, 1});
    if (sequence.output_tokens >= output_goal(sequence)) end_answer(sequence, update);
  }
}

// Its blocks are still to be freed.
void VllmV0::end_answer(Sequence& sequence, StepUpdate& update) {
  const bool stopped = sequence.output_tokens == sequence.output_target &&
                       sequence.output_target < sequence.max_tokens;
  sequence.state = SequenceState::kFinished;
  sequence.finish_reason = stopped ? FinishReason::kStop : FinishReason::kLength;
  update.finished.push_back(&sequence);
}

std::int32_t VllmV0::output_goal(const Sequence& sequence) const {
  return std::min({sequence.output_target, sequence.max_tokens,
                   engine_.max_model_len - sequence.prompt_tokens});
}

void VllmV0::check_kv() const {
  kv_.check();
  for (const Sequence* sequence : gathered_) SIM_CHECK(kv_.has_table(sequence->slot));
  for (const Sequence* sequence : running_) SIM_CHECK(kv_.has_table(sequence->slot));
  for (const Sequence* sequence : swapped_) SIM_CHECK(kv_.has_table(sequence->slot));
  for (const Sequence* sequence : waiting_) SIM_CHECK(!kv_.has_table(sequence->slot));
  const bool idle = running() == 0 && swapped_.empty();
  SIM_CHECK(!idle || kv_.usage().held_blocks == 0, "INV-2: KV held by nobody");
}

std::unique_ptr<Scheduler> make_vllm_v0(const SchedulerConfig& config) {
  return std::make_unique<VllmV0>(config);
}

}  // namespace headway
