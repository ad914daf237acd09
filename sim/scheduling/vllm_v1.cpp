#include "sim/scheduling/vllm_v1.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/core/suggest.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

bool needs_hidden_states(std::string_view method) {
  return method == "eagle" || method == "eagle3" || method == "mtp";
}

// vLLM leaves it off for recurrent models.
bool caches_prefixes(const SchedulerConfig& config) {
  return config.engine.enable_prefix_caching && !config.kv.recurrent;
}

PagedKvOptions kv_options(const SchedulerConfig& config) {
  return {.num_blocks = config.num_blocks,
          .block_size = config.engine.block_size,
          .max_model_len = config.engine.max_model_len,
          .prefix_caching = caches_prefixes(config),
          .counts_only = config.counts_blocks && !caches_prefixes(config),
          .drop_last_hit = needs_hidden_states(config.speculation),
          .host_blocks = caches_prefixes(config) ? config.num_offload_blocks : 0,
          .layout = config.kv};
}

}  // namespace

VllmV1::VllmV1(const SchedulerConfig& config)
    : max_num_seqs_(config.engine.max_num_seqs),
      max_step_tokens_(config.engine.max_num_batched_tokens),
      max_model_len_(config.engine.max_model_len),
      long_prefill_threshold_(config.engine.long_prefill_token_threshold),
      num_speculative_tokens_(config.num_speculative_tokens),
      num_lookahead_tokens_(needs_hidden_states(config.speculation) ||
                                    config.speculation == "draft_model"
                                ? config.num_speculative_tokens
                                : 0),
      chunked_prefill_(config.engine.enable_chunked_prefill),
      by_priority_(config.engine.policy == "priority"),
      async_(config.engine.async_scheduling),
      reserve_full_isl_(config.engine.scheduler_reserve_full_isl),
      beam_switch_probability_(config.engine.beam_switch_probability),
      seed_(mix64(config.seed)),
      prefix_caching_(caches_prefixes(config)),
      kv_(kv_options(config)),
      waiting_(by_priority_),
      decodes_(async_),
      keeps_step_(num_speculative_tokens_ == 0 && config.pipeline_parallel_size == 1 &&
                  config.batches_in_flight == (async_ ? 2 : 1)),
      gathers_(config.gather_decodes && keeps_step_ && kv_.groups() == nullptr) {
  SIM_CHECK(max_num_seqs_ > 0 && max_step_tokens_ > 0 && max_model_len_ > 0);
}

void VllmV1::add(Sequence& sequence) {
  const std::string reason = why_never(sequence);
  const auto join = [&](Sequence& s) {
    s.state = SequenceState::kWaiting;
    if (reason.empty()) {
      kv_.open(s.slot, *s.request, s.sample);
    } else {
      refused_.push_back({&s, reason});
    }
  };
  if (sequence.group == nullptr) {
    join(sequence);
  } else {
    groups_seen_ = true;
    kv_.name_blocks();
    for (Sequence* member : sequence.group->members) join(*member);
  }
  if (!reason.empty()) return;
  outgrows_seen_ = outgrows_seen_ || can_never_hold(sequence.prompt_tokens + longest_answer(sequence));
  waiting_.push_arrival(&sequence);
  followers_ += followers_of(sequence);
}

std::string VllmV1::why_never(const Sequence& s) const {
  if (s.prompt_tokens >= max_model_len_) {
    return "prompt of " + std::to_string(s.prompt_tokens) +
           " tokens leaves no room for an answer within max_model_len = " +
           std::to_string(max_model_len_);
  }
  if (can_never_hold(s.prompt_tokens)) return too_large(s.prompt_tokens);
  return s.group == nullptr ? "" : why_never(*s.group);
}

void VllmV1::abort(Sequence& sequence) {
  if (sequence.finished()) return;
  SequenceGroup* group = sequence.group;
  const auto refused = std::erase_if(refused_, [&](const Rejection& rejection) {
    Sequence& s = *rejection.sequence;
    if (&s != &sequence && (group == nullptr || s.group != group)) return false;
    s.state = SequenceState::kFinished;
    s.finish_reason = FinishReason::kAborted;
    return true;
  });
  if (refused > 0) return;
  if (group != nullptr && (group->beams || !group->forked)) {
    abort_group(*group);
    return;
  }
  leave_queue(sequence);
  finish(sequence, FinishReason::kAborted);
}

void VllmV1::leave_queue(Sequence& sequence) {
  if (sequence.state == SequenceState::kRunning) {
    if (decodes_.contains(sequence)) scatter(sequence);
    std::erase(running_, &sequence);
  } else if (!leave_received(sequence)) {
    waiting_.remove(&sequence);
  }
}

void VllmV1::plan(SimTime, StepPlan& plan) {
  plan.clear();
  for (Rejection& refusal : refused_) {
    refusal.sequence->state = SequenceState::kFinished;
    refusal.sequence->finish_reason = FinishReason::kRejected;
    plan.rejected.push_back(std::move(refusal));
  }
  refused_.clear();
  budget_ = max_step_tokens_;
  if (!decodes_.empty()) plan_gathered(plan);
  const bool decodes_alone = decodes_.size() == running();
  if (decodes_alone && waiting_.empty() && received_.empty()) {  // nothing else to look at
    plan.total_tokens = max_step_tokens_ - budget_;
    return;
  }
  const std::int64_t copied = kv_.copied_blocks();
  plan_running(plan);
  if (plan.preempted.empty()) {
    if (!received_.empty()) plan_received(plan);
    plan_waiting(plan);
  }
  book_progress(plan);
  if (gathers_) gather(plan);
  plan.copied_blocks = kv_.copied_blocks() - copied;
}

void VllmV1::plan_running(StepPlan& plan) {
  auto index = static_cast<std::size_t>(decodes_.size());
  while (index < running_.size() && budget_ > 0) {
    Sequence& sequence = *running_[index];
    if (sequence.group != nullptr && sequence.group->beams) {
      if (const std::int32_t held = beams_held_back(sequence); held > 0) {
        index += static_cast<std::size_t>(held);
        continue;
      }
    }
    const std::int32_t num_tokens = tokens_wanted(sequence);
    // Nothing to do for this one (it is in flight), but perhaps for a later one.
    if (num_tokens <= 0) {
      ++index;
      continue;
    }
    const Grant grant = grant_blocks(sequence, num_tokens, index, plan);
    if (grant == Grant::kPreemptedItself) return;
    if (grant == Grant::kRejected) continue;  // the next one has moved to this index
    schedule_running(sequence, num_tokens, plan);
    ++index;
  }
}

std::int32_t VllmV1::tokens_wanted(const Sequence& s) const {
  // Its last token is in flight already, even if every draft before it gets rejected.
  if (s.placeholders > 0 &&
      s.computed_tokens + 2 - s.placeholders >= s.prompt_tokens + s.max_tokens) {
    return 0;
  }
  std::int32_t n = s.known_tokens() + s.draft_tokens + s.placeholders - s.computed_tokens;
  if (long_prefill_threshold_ > 0) n = std::min(n, long_prefill_threshold_);
  return std::min({n, budget_, max_model_len_ - 1 - s.computed_tokens});
}

VllmV1::Grant VllmV1::grant_blocks(Sequence& sequence, std::int32_t num_tokens, std::size_t& index,
                                   StepPlan& plan) {
  const KvDemand demand{sequence.computed_tokens, num_tokens, num_lookahead_tokens_,
                        sequence.known_tokens()};
  if (kv_.allocate(sequence.slot, demand)) return Grant::kGiven;
  const std::int32_t slots =
      std::min(sequence.computed_tokens + num_tokens + num_lookahead_tokens_, max_model_len_);
  if (never_fits(sequence.computed_tokens, slots)) {
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
    reject(sequence, too_large(slots), plan);
    return Grant::kRejected;
  }
  for (;;) {
    Sequence* victim = pop_victim(index, plan);
    const bool itself = preempt_victim(*victim, sequence, index, plan);
    plan.yielded_for(sequence);
    if (itself) return Grant::kPreemptedItself;
    if (kv_.allocate(sequence.slot, demand)) return Grant::kGiven;
  }
}

// Takes the victim out of running_; `index` keeps pointing at the sequence that needs blocks.
Sequence* VllmV1::pop_victim(std::size_t& index, StepPlan& plan) {
  if (!by_priority_) {
    Sequence* victim = running_.back();
    running_.pop_back();
    return victim;
  }
  // The engine's clock never shows two arrivals at one instant, ours does: without the admission
  // order as a tie-break, two such sequences would evict each other for ever.
  const auto worst = std::max_element(running_.begin(), running_.end(), more_urgent);
  const bool earlier = static_cast<std::size_t>(worst - running_.begin()) < index;
  Sequence* victim = *worst;
  running_.erase(worst);
  // One that stood earlier without a part in this step shifts the list all the same; like the
  // engine, we then pass over one sequence. (Beams go in step, so none of them may be passed over.)
  if (unschedule(*victim, plan) || (earlier && groups_seen_)) --index;
  return victim;
}

// One that had its part in this step already gives it back.
bool VllmV1::unschedule(const Sequence& sequence, StepPlan& plan) {
  const auto entry =
      std::find_if(plan.scheduled.begin(), plan.scheduled.end(),
                   [&](const ScheduledSequence& s) { return s.sequence == &sequence; });
  if (entry == plan.scheduled.end()) return false;
  budget_ += entry->num_tokens;
  plan.scheduled.erase(entry);
  return true;
}

// True when the victim, or its gang, is who needed the blocks.
bool VllmV1::preempt_victim(Sequence& victim, const Sequence& needy, std::size_t& index,
                            StepPlan& plan) {
  if (victim.group != nullptr && victim.group->beams && victim.group->forked) {
    return preempt_gang(victim, needy, index, plan);
  }
  preempt(victim, plan);
  return &victim == &needy;
}

void VllmV1::preempt(Sequence& sequence, StepPlan& plan) {
  seats_kept_ -= followers_of(sequence);
  lose_kv(sequence, plan);
  waiting_.push_preempted(&sequence);
}

void VllmV1::lose_kv(Sequence& sequence, StepPlan& plan) {
  kv_.free(sequence.slot);
  sequence.state = SequenceState::kPreempted;
  sequence.computed_tokens = 0;
  sequence.draft_tokens = 0;
  sequence.placeholders = 0;
  ++sequence.preemptions;
  plan.preempted.push_back(&sequence);
}

void VllmV1::schedule_running(Sequence& s, std::int32_t num_tokens, StepPlan& plan) {
  const std::int32_t confirmed = s.known_tokens() + s.placeholders;
  // Drafts that found no place in the budget are dropped, not kept for later.
  const std::int32_t drafts =
      std::clamp(s.computed_tokens + num_tokens - confirmed, 0, s.draft_tokens);
  s.draft_tokens = 0;
  ScheduledSequence& entry = plan.scheduled.emplace_back();  // not copied: core/in_place.h
  entry.sequence = &s;
  entry.computed_before = s.computed_tokens;
  entry.num_tokens = num_tokens;
  entry.draft_tokens = drafts;
  entry.prefill = s.computed_tokens < std::max(s.prompt_tokens, confirmed - 1);
  entry.preemptions = s.preemptions;
  budget_ -= num_tokens;
}

void VllmV1::plan_waiting(StepPlan& plan) {
  while (!waiting_.empty() && budget_ > 0 && seats_free(*waiting_.front())) {
    if (!admit(*waiting_.front(), plan)) break;  // nobody overtakes the head
  }
  if (waiting_.empty()) return;
  const HeldBack cause = budget_ == 0                      ? HeldBack::kTokenBudget
                         : seats_free(*waiting_.front()) ? HeldBack::kKvBlocks
                                                         : HeldBack::kSeats;
  if (plan.held_back == nullptr) plan.hold_back(*waiting_.front(), cause);
}

// False when the head of the queue has to wait.
bool VllmV1::admit(Sequence& s, StepPlan& plan) {
  const std::int32_t known = s.known_tokens();
  if (can_never_hold(known)) {  // it has grown since it was first admitted
    waiting_.pop_front();
    reject(s, too_large(known), plan);
    return true;
  }
  const PrefixHit hit = kv_.lookup(s.slot, known);
  const std::int32_t found = hit.all_tokens();
  std::int32_t num_tokens = known - found;
  if (long_prefill_threshold_ > 0) num_tokens = std::min(num_tokens, long_prefill_threshold_);
  if (!chunked_prefill_ && num_tokens > budget_) {
    if (num_tokens <= max_step_tokens_) {
      plan.hold_back(s, HeldBack::kTokenBudget);
      return false;
    }
    waiting_.pop_front();
    reject(s,
           std::to_string(num_tokens) +
               " tokens must be computed in one step (chunked prefill is "
               "off), but max_num_batched_tokens = " +
               std::to_string(max_step_tokens_),
           plan);
    return true;
  }
  num_tokens = std::min(num_tokens, budget_);
  if (reserve_full_isl_ && !whole_prompt_fits(s, hit)) return false;
  if (!kv_.allocate(s.slot, {found, num_tokens, 0, known}, hit)) {
    if (!never_fits(found, found + num_tokens)) return false;
    waiting_.pop_front();
    reject(s, too_large(known), plan);
    return true;
  }

  waiting_.pop_front();
  running_.push_back(&s);
  const bool resumed = s.state == SequenceState::kPreempted;
  if (!resumed) kv_.count_query(known, found, hit.host_tokens);
  kv_.use_host_blocks(s.slot, hit);
  plan.swapped_in_blocks += hit.host_tokens / kv_.block_size();
  seats_kept_ += followers_of(s);
  s.state = SequenceState::kRunning;
  s.computed_tokens = found;
  s.cached_tokens = std::min(found, s.prompt_tokens);
  s.draft_tokens = 0;
  ScheduledSequence& entry = plan.scheduled.emplace_back();  // not copied: core/in_place.h
  entry.sequence = &s;
  entry.kind = resumed ? ScheduledKind::kResumed : ScheduledKind::kNew;
  entry.computed_before = found;
  entry.num_tokens = num_tokens;
  entry.prefill = true;
  entry.preemptions = s.preemptions;
  budget_ -= num_tokens;
  return true;
}

// Progress is booked at once, before any result is known, so that the next step can be planned.
void VllmV1::book_progress(StepPlan& plan) {
  plan.total_tokens = max_step_tokens_ - budget_;
  for (ScheduledSequence& entry : plan.scheduled) {
    Sequence& s = *entry.sequence;
    s.computed_tokens += entry.num_tokens;
    entry.samples =
        entry.draft_tokens > 0 || s.computed_tokens >= s.known_tokens() + s.placeholders;
    if (async_ && entry.samples) {
      s.placeholders += 1 + entry.draft_tokens;
      s.draft_tokens = num_speculative_tokens_;
    }
    if (s.group != nullptr && entry.samples && !s.group->forked) fork_group(entry, plan);
  }
}

void VllmV1::finish(Sequence& sequence, FinishReason reason) {
  sequence.state = SequenceState::kFinished;
  sequence.finish_reason = reason;
  sequence.draft_tokens = 0;
  const bool answered = reason == FinishReason::kStop || reason == FinishReason::kLength;
  if (!sequence.keeps_kv || !answered) release(sequence);
}

// REQUIRES: the sequence has left the queues.
void VllmV1::reject(Sequence& sequence, const std::string& reason, StepPlan& plan) {
  if (followers_of(sequence) > 0) {
    if (sequence.state == SequenceState::kRunning) seats_kept_ -= followers_of(sequence);
    for (Sequence* member : sequence.group->members) {
      if (member != &sequence && !member->finished()) plan.rejected.push_back({member, reason});
    }
    finish_followers(sequence, FinishReason::kRejected);
  }
  finish(sequence, FinishReason::kRejected);
  plan.rejected.push_back({&sequence, reason});
}

bool VllmV1::can_never_hold(std::int32_t tokens) const {
  return kv_.least_blocks(tokens) > kv_.pool().usable_blocks();
}

// A step from `computed` to `end` tokens, were the sequence alone.
bool VllmV1::never_fits(std::int32_t computed, std::int32_t end) const {
  return kv_.blocks_of_step(computed, end) > kv_.pool().usable_blocks();
}

// With windows: what it holds at most on its way.
bool VllmV1::whole_prompt_fits(const Sequence& s, const PrefixHit& hit) const {
  const std::int32_t known = s.known_tokens();
  if (kv_.groups() == nullptr) {
    return kv_.fits(s.slot, {hit.tokens, known - hit.tokens, 0, known}, hit);
  }
  const std::int64_t most = kv_.most_blocks(known, max_step_tokens_);
  return std::min(most, kv_.pool().usable_blocks()) <= kv_.pool().free_blocks();
}

std::string VllmV1::too_large(std::int32_t tokens) const {
  return std::to_string(tokens) + " tokens need " +
         std::to_string(kv_.most_blocks(tokens, max_step_tokens_)) +
         " KV blocks; the cache has " + std::to_string(kv_.pool().usable_blocks());
}

std::unique_ptr<Scheduler> make_vllm_v1(const SchedulerConfig& config) {
  const std::string& policy = config.engine.policy;
  if (policy != "fcfs" && policy != "priority") {
    throw InputError({.place = "engine.policy",
                      .found = "\"" + policy + "\"",
                      .expected = one_of(policy, {"fcfs", "priority"}) + " for vllm-v1"});
  }
  const std::string& allocator = config.engine.kv_allocator;
  if (!allocator.empty() && allocator != "paged") {
    throw InputError({.place = "engine.kv_allocator",
                      .found = "\"" + allocator + "\"",
                      .expected = "\"paged\" for vllm-v1"});
  }
  return std::make_unique<VllmV1>(config);
}

}  // namespace headway
