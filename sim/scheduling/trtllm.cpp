#include "sim/scheduling/trtllm.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scheduling/batch_scheduler.h"
#include "sim/scheduling/policies.h"

namespace headway {

Trtllm::Trtllm(const TrtllmOptions& options)
    : options_(options),
      kv_(options.num_blocks, options.tokens_per_block),
      gathers_(options.gather_decodes && !options.two_steps_look_ahead && !options.speculates) {
  SIM_CHECK(options_.max_num_requests > 0 && options_.max_batch_size > 0);
  SIM_CHECK(options_.max_num_tokens > 0 && options_.max_context_length > 0);
  SIM_CHECK(options_.max_model_len > 1 && options_.chunk_unit_size > 0);
  // A unit that no step can take would leave every long prompt waiting for ever.
  options_.chunk_unit_size = std::min(
      {options_.chunk_unit_size, options_.max_num_tokens, options_.max_context_length});
}

void Trtllm::add(Sequence& s) {
  if (s.slot >= side_.size()) side_.resize(s.slot + 1);
  side_[s.slot] = {.prompt_length = s.prompt_tokens};
  s.state = SequenceState::kWaiting;
  if (std::string reason = why_never(s); !reason.empty()) {
    refused_.push_back({&s, std::move(reason)});
  } else {
    waiting_.insert(&s);
  }
}

void Trtllm::abort(Sequence& s) {
  if (s.finished()) return;
  if (s.state == SequenceState::kRunning) {
    if (decodes_.contains(s)) {
      decodes_.scatter(s);
      leave_gathered(s);
    } else {
      std::erase(started_, &s);
    }
    kv_.release(s.slot);
  } else if (waiting_.erase(&s) == 0) {
    std::erase_if(refused_, [&](const Rejection& rejection) { return rejection.sequence == &s; });
  }
  finish(s, FinishReason::kAborted);
}

std::int32_t Trtllm::longest(const Sequence& s) const {
  return std::min(s.prompt_tokens + s.max_tokens, options_.max_model_len);
}

std::int32_t Trtllm::longest_prompt() const {
  const std::int32_t of_model = options_.max_model_len - 1;
  return options_.chunking == ContextChunking::kOff ? std::min(of_model, options_.max_num_tokens)
                                                    : of_model;
}

std::int32_t Trtllm::output_goal(const Sequence& s) const {
  return std::min(s.output_target, longest(s) - s.prompt_tokens);
}

std::string Trtllm::why_never(const Sequence& s) const {
  if (s.prompt_tokens > longest_prompt()) {
    return "the prompt is longer than " + std::to_string(longest_prompt()) +
           " tokens, the longest that max_model_len" +
           (options_.chunking == ContextChunking::kOff
                ? " and, without context_chunking_policy, max_num_batched_tokens allow"
                : " allows");
  }
  // MAX_UTILIZATION without look-ahead never asks for the place of the last token, which stores no KV.
  const bool one_step =
      options_.policy == CapacityPolicy::kMaxUtilization && !options_.two_steps_look_ahead;
  const std::int64_t need = ceil_div(longest(s) - (one_step ? 1 : 0), options_.tokens_per_block);
  if (need <= options_.num_blocks) return {};
  return "prompt and output need more KV than the cache of " + std::to_string(options_.num_blocks) +
         " blocks of " + std::to_string(options_.tokens_per_block) + " tokens";
}

// Of the drafts proposed, those that leave room for the token behind them.
std::int32_t Trtllm::drafts(const Sequence& s) const {
  return std::max(0, std::min({s.draft_tokens, longest(s) - 1 - s.known_tokens(),
                               options_.max_num_tokens - 1}));
}

void Trtllm::plan(SimTime, StepPlan& plan) {
  plan.clear();
  for (Rejection& refusal : refused_) {
    finish(*refusal.sequence, FinishReason::kRejected);
    plan.rejected.push_back(std::move(refusal));
  }
  refused_.clear();
  line_held_by_ = HeldBack::kUnsaid;
  if (!decodes_.empty() && choose_with_gathered()) {
    plan_gathered(plan);
  } else {
    if (!decodes_.empty()) scatter_all(plan);
    fitting_.clear();
    if (options_.policy == CapacityPolicy::kMaxUtilization) {
      for (Sequence* s : fit_max_utilization()) pause(*s, plan);
    } else {
      fit_reserved();
    }
    choose_batch();
  }
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    if (chunks_[i].size > 0) schedule(*contexts_[i], chunks_[i].size, chunks_[i].drafts, plan);
  }
  for (Sequence* s : generations_) schedule(*s, 1, drafts(*s), plan);
  if (gathers_) gather(plan);
  if (waiting_.empty()) return;
  const bool fits = line_held_by_ == HeldBack::kUnsaid;
  plan.hold_back(**waiting_.begin(), fits ? HeldBack::kTokenBudget : line_held_by_);
}

// Its place in the order stays its own.
void Trtllm::pause(Sequence& s, StepPlan& plan) {
  kv_.release(s.slot);
  std::erase(started_, &s);
  waiting_.insert(&s);
  s.state = SequenceState::kPreempted;
  s.computed_tokens = 0;
  s.draft_tokens = 0;
  ++s.preemptions;
  side_[s.slot].prompt_length = std::min(s.known_tokens(), longest_prompt());
  plan.preempted.push_back(&s);
}

void Trtllm::schedule(Sequence& s, std::int32_t tokens, std::int32_t drafts, StepPlan& plan) {
  ScheduledKind kind = ScheduledKind::kRunning;
  if (s.state != SequenceState::kRunning) {
    kind = s.state == SequenceState::kPreempted ? ScheduledKind::kResumed : ScheduledKind::kNew;
    waiting_.erase(&s);
    started_.insert(std::upper_bound(started_.begin(), started_.end(), &s, MoreUrgent()), &s);
    s.state = SequenceState::kRunning;
    // The whole prompt's blocks at once, whatever the first chunk.
    kv_.admit(s.slot, {.tokens_now = prompt_length(s) + drafts});
  }
  const bool context = s.computed_tokens < prompt_length(s);
  const std::int32_t before = s.computed_tokens;
  s.computed_tokens += tokens + drafts;
  s.draft_tokens = 0;
  side_[s.slot].in_flight = true;
  SIM_CHECK(kv_.store(s.slot, s.computed_tokens), "a fitting request finds no KV block");
  plan.scheduled.push_back({.sequence = &s,
                            .kind = kind,
                            .computed_before = before,
                            .num_tokens = tokens + drafts,
                            .draft_tokens = drafts,
                            .samples = s.computed_tokens - drafts == s.known_tokens(),
                            .prefill = context,
                            .preemptions = s.preemptions});
  plan.total_tokens += tokens + drafts;
}

void Trtllm::complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) {
  update.clear();
  std::ptrdiff_t finished_contexts = 0;
  for (std::size_t i = 0; i < plan.scheduled.size(); ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    Sequence& s = *entry.sequence;
    if (s.finished()) continue;  // aborted while its step ran
    side_[s.slot].in_flight = false;
    if (!entry.samples) continue;
    const std::int32_t accepted = result.accepted_drafts.empty() ? 0 : result.accepted_drafts[i];
    if (accepted < entry.draft_tokens) {
      s.computed_tokens -= entry.draft_tokens - accepted;
      kv_.rewind(s.slot, s.computed_tokens);
    }
    const std::int32_t goal = output_goal(s);
    const std::int32_t kept = std::min(1 + accepted, goal - s.output_tokens);
    s.output_tokens += kept;
    update.emitted.push_back({&s, kept});
    if (s.output_tokens < goal) continue;
    end_answer(s, update);
    if (entry.prefill) ++finished_contexts;
  }
  if (!update.finished.empty()) {
    std::erase_if(started_, [](const Sequence* s) { return s->finished(); });
  }
  if (plan.decodes.sequences == 0) return;
  // Contexts come first in the batch, then all generations by urgency.
  complete_gathered(update);
  std::sort(update.finished.begin() + finished_contexts, update.finished.end(), MoreUrgent());
}

void Trtllm::end_answer(Sequence& s, StepUpdate& update) {
  const bool stopped = s.output_tokens == s.output_target && s.output_target < s.max_tokens;
  kv_.release(s.slot);
  finish(s, stopped ? FinishReason::kStop : FinishReason::kLength);
  update.finished.push_back(&s);
}

void Trtllm::finish(Sequence& s, FinishReason reason) {
  s.state = SequenceState::kFinished;
  s.finish_reason = reason;
  s.draft_tokens = 0;
}

void Trtllm::check_kv() const {
  kv_.check();
  std::int64_t held = 0;
  for (const auto* list : {&started_, &gathered_}) {
    for (const Sequence* s : *list) {
      SIM_CHECK(kv_.blocks_of(s->slot) > 0, "a started request holds no KV");
      held += kv_.blocks_of(s->slot);
    }
  }
  SIM_CHECK(held == kv_.usage().held_blocks, "INV-2: KV held by nobody");
}

namespace {

CapacityPolicy capacity_policy(const std::string& name) {
  if (name == "GUARANTEED_NO_EVICT") return CapacityPolicy::kGuaranteedNoEvict;
  if (name == "MAX_UTILIZATION") return CapacityPolicy::kMaxUtilization;
  if (name == "STATIC_BATCH") return CapacityPolicy::kStaticBatch;
  throw InputError({.place = "engine.capacity_scheduler_policy",
                    .found = "\"" + name + "\"",
                    .expected = one_of(name, {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION",
                                              "STATIC_BATCH"})});
}

ContextChunking chunking_policy(const std::string& name) {
  if (name.empty()) return ContextChunking::kOff;
  if (name == "FIRST_COME_FIRST_SERVED") return ContextChunking::kFirstComeFirstServed;
  if (name == "EQUAL_PROGRESS") return ContextChunking::kEqualProgress;
  throw InputError({.place = "engine.context_chunking_policy",
                    .found = "\"" + name + "\"",
                    .expected = one_of(name, {"FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"}) +
                                ", or \"\" for whole prompts"});
}

}  // namespace

std::unique_ptr<Scheduler> make_trtllm(const SchedulerConfig& config) {
  const EngineOptions& engine = config.engine;
  require_paged_kv(engine);
  TrtllmOptions options;
  options.policy = capacity_policy(engine.capacity_scheduler_policy);
  options.chunking = chunking_policy(engine.context_chunking_policy);
  // As its C++ runtime sizes them: a batch of max_batch_size a micro-batch in flight.
  options.max_batch_size = engine.max_num_seqs;
  options.max_num_requests = engine.max_num_seqs * config.batches_in_flight;
  options.max_num_tokens = engine.max_num_batched_tokens;
  options.max_model_len = engine.max_model_len;
  options.chunk_unit_size = options.tokens_per_block = engine.block_size;
  options.num_blocks = config.num_blocks;
  options.two_steps_look_ahead = config.batches_in_flight > 1;
  options.speculates = config.num_speculative_tokens > 0;
  options.gather_decodes = config.gather_decodes;
  return std::make_unique<Trtllm>(options);
}

}  // namespace headway
