// The three queues of vLLM V0: who of the waiting, running and swapped gets into a step.
#include <algorithm>
#include <string>

#include "sim/core/errors.h"
#include "sim/scheduling/vllm_v0.h"

namespace headway {

bool VllmV0::more_urgent(const Sequence* a, const Sequence* b) {
  return a->priority != b->priority ? a->priority < b->priority : a->order < b->order;
}

std::int32_t VllmV0::tokens_to_prefill(const Sequence& sequence) const {
  return prefill_target_[sequence.slot] - sequence.computed_tokens;
}

bool VllmV0::is_long(const Sequence& sequence) const {
  return tokens_to_prefill(sequence) > long_prefill_threshold_;
}

bool VllmV0::affords(const Budget& budget, std::int32_t tokens) const {
  return budget.tokens + tokens <= token_budget_ && budget.sequences + 1 <= engine_.max_num_seqs;
}

// A prompt is held back until its wait exceeds delay_factor times the last prefill step's duration.
bool VllmV0::passed_delay(SimTime now) {
  if (last_was_prompt_) last_prompt_latency_ = now - last_look_;
  last_look_ = now;
  last_was_prompt_ = false;
  // In the chunked rule those that already have their part in the step are off the queue by now.
  const bool idle = running_.empty() && (engine_.enable_chunked_prefill || gathered_.empty());
  if (engine_.delay_factor <= 0 || waiting_.empty() || idle) return true;
  SimTime earliest = SimTime::never();
  for (const Sequence* sequence : waiting_) earliest = std::min(earliest, sequence->arrival);
  const double waited_ns = static_cast<double>((now - earliest).ns());
  return waited_ns > engine_.delay_factor * static_cast<double>(last_prompt_latency_.ns());
}

VllmV0::PartialPrefills VllmV0::count_partial_prefills() const {
  const std::int32_t most = engine_.max_num_partial_prefills;
  std::int32_t prefills = 0;
  std::int32_t long_waiting = 0;
  PartialPrefills partial;
  for (const Sequence* sequence : running_) {
    if (!prefilling(*sequence)) continue;
    ++prefills;
    if (is_long(*sequence)) ++partial.long_ones;
  }
  for (const Sequence* sequence : waiting_) {
    if (prefills >= most) break;
    if (is_long(*sequence)) {
      if (partial.long_ones + long_waiting >= engine_.max_long_partial_prefills) continue;
      ++long_waiting;
    }
    ++prefills;
  }
  partial.schedulable = std::min(prefills, most);
  return partial;
}

// The part of `tokens` that a step has room for: the rest of its budget, an even share of the whole
// budget among the prompts under way, whole blocks when prefixes are cached.
std::int32_t VllmV0::chunk(std::int32_t tokens, const Budget& budget,
                           const PartialPrefills* partial) const {
  std::int32_t left = token_budget_ - budget.tokens;
  const std::int32_t share = token_budget_ / std::max(partial->schedulable, 1);
  if (engine_.enable_prefix_caching) {
    left = std::min(left, share) / engine_.block_size * engine_.block_size;
  }
  return std::min({tokens, left, share});
}

VllmV0::NewTokens VllmV0::new_tokens(const Sequence& sequence, const Budget& budget,
                                     const PartialPrefills* partial) {
  NewTokens result{.uncached = 1};
  if (prefilling(sequence)) {
    const std::int32_t cached = kv_.cached_tokens(sequence.slot, prefill_target_[sequence.slot]);
    result.cached = std::max(0, cached - sequence.computed_tokens);
    result.uncached = tokens_to_prefill(sequence) - result.cached;
    if (result.uncached == 0) {  // something must be computed to sample from
      result.uncached = 1;
      --result.cached;
    }
  }
  if (partial != nullptr) result.uncached = chunk(result.uncached, budget, partial);
  return result;
}

VllmV0::Batch VllmV0::schedule_prefills(SimTime now, Budget& budget, PartialPrefills* partial,
                                        StepPlan& plan) {
  Batch batch;
  if (budget.tokens >= token_budget_) return batch;
  Queue left_out;  // too many long prompts under way; later ones may still go
  while (passed_delay(now) && !waiting_.empty()) {
    Sequence& sequence = *waiting_.front();
    const std::int32_t known = sequence.known_tokens();
    if (sequence.prompt_tokens >= engine_.max_model_len) {
      waiting_.pop_front();
      reject(sequence,
             "prompt of " + std::to_string(known) +
                 " tokens leaves no room for an answer "
                 "in max_model_len " +
                 std::to_string(engine_.max_model_len),
             plan);
      continue;
    }
    if (partial != nullptr && engine_.max_num_partial_prefills > 1 && is_long(sequence) &&
        partial->long_ones >= engine_.max_long_partial_prefills) {
      left_out.push_back(&sequence);
      waiting_.pop_front();
      continue;
    }
    const NewTokens tokens = new_tokens(sequence, budget, partial);
    const VllmV0Blocks::Fit fit = kv_.can_admit(known);
    if (fit == VllmV0Blocks::Fit::kLater) {
      plan.hold_back(sequence, HeldBack::kKvBlocks);
      break;
    }
    if (fit == VllmV0Blocks::Fit::kNever) {
      waiting_.pop_front();
      reject(sequence,
             "its " + std::to_string(known) +
                 " tokens need more KV blocks than the cache "
                 "has above its watermark",
             plan);
      continue;
    }
    if (tokens.uncached == 0 || !affords(budget, tokens.uncached)) {
      const bool seats = budget.sequences >= engine_.max_num_seqs;
      plan.hold_back(sequence, seats ? HeldBack::kSeats : HeldBack::kTokenBudget);
      break;
    }
    waiting_.pop_front();
    if (partial != nullptr && is_long(sequence)) ++partial->long_ones;
    const bool resumed = sequence.state == SequenceState::kPreempted;
    kv_.admit(sequence.slot, known);
    sequence.cached_tokens = tokens.cached;
    if (sequence.preemptions == 0) kv_.count_query(known, tokens.cached);
    schedule(sequence, tokens, resumed ? ScheduledKind::kResumed : ScheduledKind::kNew, batch);
    budget.tokens += tokens.uncached;
    ++budget.sequences;
  }
  waiting_.insert(waiting_.begin(), left_out.begin(), left_out.end());
  if (!batch.empty()) last_was_prompt_ = true;
  return batch;
}

VllmV0::Batch VllmV0::schedule_running(Budget& budget, const PartialPrefills* partial,
                                       StepPlan& plan) {
  Batch batch;
  while (!running_.empty()) {
    Sequence& sequence = *running_.front();
    const NewTokens tokens = new_tokens(sequence, budget, partial);
    if (tokens.uncached == 0 || budget.tokens + tokens.uncached > token_budget_) break;
    running_.pop_front();
    bool yielded = false;
    // A prompt under way that holds the whole cache alone would yield to itself for ever.
    const bool owns_all = prefilling(sequence) && running_.empty() && batch.empty() &&
                          plan.decodes.sequences == 0;
    while (!yielded && !owns_all && !kv_.can_append()) {
      Sequence* victim = &sequence;
      if (!running_.empty()) {
        victim = running_.back();
        running_.pop_back();
      }
      yielded = victim == &sequence;
      preempt(*victim, true, plan);
      plan.yielded_for(sequence);
    }
    if (yielded) continue;
    kv_.append(sequence.slot, sequence.known_tokens());
    schedule(sequence, {.uncached = tokens.uncached}, ScheduledKind::kRunning, batch);
    budget.tokens += tokens.uncached;
    if (partial != nullptr) ++budget.sequences;  // else they are counted from the start
  }
  return batch;
}

VllmV0::Batch VllmV0::schedule_swapped(Budget& budget, StepPlan& plan) {
  Batch batch;
  while (!swapped_.empty()) {
    Sequence& sequence = *swapped_.front();
    const VllmV0Blocks::Fit fit = kv_.can_swap_in(sequence.slot);
    if (fit == VllmV0Blocks::Fit::kLater) break;
    if (fit == VllmV0Blocks::Fit::kNever) {
      swapped_.pop_front();
      kv_.free(sequence.slot);
      reject(sequence, "swapped out, and too long to fit the KV cache again", plan);
      continue;
    }
    NewTokens tokens = new_tokens(sequence, budget, nullptr);
    if (tokens.uncached > token_budget_) tokens.uncached = token_budget_ - budget.tokens;
    if (tokens.uncached <= 0 || !affords(budget, tokens.uncached)) break;
    swapped_.pop_front();
    kv_.swap_in(sequence.slot, swapped_in_);
    kv_.append(sequence.slot, sequence.known_tokens());
    schedule(sequence, tokens, ScheduledKind::kResumed, batch);
    budget.tokens += tokens.uncached;
    ++budget.sequences;
  }
  return batch;
}

// Makes room for the first waiting request by preempting less urgent running ones. It is admitted
// in a later step; both queues are sorted by urgency on the way.
void VllmV0::preempt_for_priority(Budget& budget, StepPlan& plan) {
  std::sort(running_.begin(), running_.end(), more_urgent);
  if (!waiting_.empty()) {
    Sequence* urgent = waiting_.front();
    waiting_.pop_front();
    const NewTokens tokens = new_tokens(*urgent, budget, nullptr);
    while (!running_.empty() && more_urgent(urgent, running_.back())) {
      const bool fits = kv_.can_admit(urgent->known_tokens()) == VllmV0Blocks::Fit::kNow;
      if (fits && affords(budget, tokens.uncached)) break;
      Sequence* victim = running_.back();
      running_.pop_back();
      --budget.sequences;
      preempt(*victim, false, plan);
      plan.yielded_for(*urgent);
      recompute_.clear();  // it goes back here
      waiting_.push_front(victim);
      ++forced_;
    }
    waiting_.push_front(urgent);
  }
  std::stable_sort(waiting_.begin(), waiting_.end(), more_urgent);
}

void VllmV0::schedule(Sequence& sequence, const NewTokens& tokens, ScheduledKind kind,
                      Batch& batch) {
  const bool prefill = prefilling(sequence);
  const std::int32_t before = sequence.computed_tokens + tokens.cached;
  sequence.state = SequenceState::kRunning;
  sequence.computed_tokens = before + tokens.uncached;
  batch.push_back({.sequence = &sequence,
                   .kind = kind,
                   .computed_before = before,
                   .num_tokens = tokens.uncached,
                   .samples = sequence.computed_tokens == sequence.known_tokens(),
                   .prefill = prefill,
                   .preemptions = sequence.preemptions});
}

void VllmV0::preempt(Sequence& sequence, bool may_swap, StepPlan& plan) {
  ++sequence.preemptions;
  plan.preempted.push_back(&sequence);
  if (may_swap && engine_.preemption_mode == "swap" && kv_.can_swap_out(sequence.slot)) {
    kv_.swap_out(sequence.slot, swapped_out_);
    sequence.state = SequenceState::kSwapped;
    swap_out_.push_back(&sequence);
    return;
  }
  kv_.free(sequence.slot);
  sequence.state = SequenceState::kPreempted;
  sequence.computed_tokens = 0;
  prefill_target_[sequence.slot] = sequence.known_tokens();
  recompute_.push_back(&sequence);
}

void VllmV0::reject(Sequence& sequence, std::string reason, StepPlan& plan) {
  sequence.state = SequenceState::kFinished;
  sequence.finish_reason = FinishReason::kRejected;
  plan.rejected.push_back({&sequence, std::move(reason)});
}

}  // namespace headway
