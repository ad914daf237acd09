#include "sim/scheduling/sglang.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/scheduling/policies.h"
#include "sim/scheduling/speculation_support.h"

namespace headway {
namespace {

// Fixed in the engine.
constexpr double kMinRatioFactor = 0.14;
constexpr double kRatioDecaySteps = 600;

// The samples of a request share its prompt; their answers are unlike.
Request text_of_sample(const Sequence& s) {
  Request text = *s.request;
  const auto sample = static_cast<std::uint64_t>(s.sample);
  const std::uint64_t answer = combine64(hash_name("sample") ^ text.id, sample);
  text.output_ids.resize(static_cast<std::size_t>(text.output_tokens));
  for (std::size_t i = 0; i < text.output_ids.size(); ++i) {
    text.output_ids[i] = combine64(answer, i);
  }
  return text;
}

}  // namespace

Sglang::Sglang(const SchedulerConfig& config)
    : max_running_(config.engine.max_num_seqs),
      max_model_len_(config.engine.max_model_len),
      block_size_(config.engine.block_size),
      block_a_sequence_(config.kv.block_a_sequence()),
      retract_decode_steps_(config.engine.retract_decode_steps),
      init_ratio_(std::min(
          config.engine.init_new_token_ratio * config.engine.schedule_conservativeness, 1.0)),
      min_ratio_(init_ratio_ * kMinRatioFactor),
      ratio_decay_((init_ratio_ - min_ratio_) / kRatioDecaySteps),
      pool_(config.num_blocks * config.engine.block_size, config.engine.page_size,
            config.engine.enable_prefix_caching),
      policy_(config.engine.policy, config.engine.enable_prefix_caching, config.seed),
      ratio_(init_ratio_) {
  const EngineOptions& engine = config.engine;
  SIM_CHECK(max_running_ > 0 && max_model_len_ > 0);
  limits_.max_prefill_tokens = engine.max_prefill_tokens;
  limits_.chunk_tokens =
      engine.enable_chunked_prefill ? std::max(engine.chunked_prefill_size, 0) : 0;
  limits_.ignore_eos = engine.ignore_eos;
  mixed_ = engine.enable_mixed_chunk && limits_.chunk_tokens > 0;
  gathers_ = config.gather_decodes && !mixed_;
}

std::int32_t Sglang::longest_output(const Sequence& s) const {
  return std::min({s.output_target, s.max_tokens, max_model_len_ - s.prompt_tokens});
}

// States are in a slot each (SGLang's MambaPool).
KvUsage Sglang::kv_usage() const {
  KvUsage usage = pool_.usage(block_size_);
  if (!block_a_sequence_) return usage;
  usage.block_size = usage.cached_blocks = 0;
  usage.held_blocks = running_count_ + expected_ + std::ssize(received_) + kept_;
  usage.free_blocks = usage.total_blocks - usage.held_blocks;
  return usage;
}

std::string Sglang::why_never(const Sequence& s) const {
  const std::int32_t output = longest_output(s);
  if (output < 1) {
    return "prompt of " + std::to_string(s.prompt_tokens) +
           " tokens leaves no room for an answer within max_model_len = " +
           std::to_string(max_model_len_);
  }
  if (s.prompt_tokens + output <= pool_.total_tokens()) return "";
  return "prompt of " + std::to_string(s.prompt_tokens) + " and output of " +
         std::to_string(output) + " tokens; the KV pool has " +
         std::to_string(pool_.total_tokens());
}

void Sglang::add(Sequence& s) {
  s.state = SequenceState::kWaiting;
  if (std::string reason = why_never(s); !reason.empty()) {
    refused_.push_back({&s, std::move(reason)});
    return;
  }
  open(s);
  waiting_.push_back(&s);
}

void Sglang::open(Sequence& s) {
  pool_.open(s.slot, s.sample == 0 ? *s.request : text_of_sample(s));
  if (s.slot >= output_budget_.size()) output_budget_.resize(s.slot + 1);
  const std::int64_t room = std::max<std::int64_t>(pool_.total_tokens() - 2 - s.prompt_tokens, 0);
  output_budget_[s.slot] = static_cast<std::int32_t>(
      std::min<std::int64_t>(room, std::min(s.max_tokens, max_model_len_ - s.prompt_tokens)));
}

SglangBatch::Member Sglang::member(Sequence& s) const {
  return {.sequence = &s, .order = s.order, .output_budget = output_budget_[s.slot]};
}

void Sglang::abort(Sequence& s) {
  if (s.finished()) return;
  const auto refused =
      std::erase_if(refused_, [&](const Rejection& rejection) { return rejection.sequence == &s; });
  if (refused > 0) {
    s.state = SequenceState::kFinished;
    s.finish_reason = FinishReason::kAborted;
    return;
  }
  if (s.state != SequenceState::kRunning) {
    if (!leave_received(s)) std::erase(waiting_, &s);
    pool_.close(s.slot);
    s.state = SequenceState::kFinished;
    s.finish_reason = FinishReason::kAborted;
    return;
  }
  if (cut_ == &s) cut_ = nullptr;
  if (decodes_.contains(s)) scatter(s);
  finish(s, FinishReason::kAborted);
  running_.note_ended(s);
  last_.note_ended(s);
}

// Ends a running sequence. What it computed stays in the tree, as far as its tokens are known.
void Sglang::finish(Sequence& s, FinishReason reason) {
  if (s.keeps_kv && reason != FinishReason::kAborted) {
    ++kept_;
  } else {
    close(s);
  }
  s.state = SequenceState::kFinished;
  s.finish_reason = reason;
  --running_count_;
}

void Sglang::plan(SimTime, StepPlan& plan) {
  plan.clear();
  for (Rejection& refusal : refused_) {
    refusal.sequence->state = SequenceState::kFinished;
    refusal.sequence->finish_reason = FinishReason::kRejected;
    plan.rejected.push_back(std::move(refusal));
  }
  refused_.clear();
  // An idle engine goes round at once.
  constexpr int kTurns = 4;
  for (int i = 0; i < kTurns; ++i) {
    turn(plan);
    const bool idle = plan.empty() && in_flight_ == 0;
    if (!idle || (waiting_.empty() && received_.empty() && cut_ == nullptr)) break;
  }
  if (waiting_.empty()) return;
  plan.hold_back(*waiting_.front(), running_.full ? full_by_ : HeldBack::kTokenBudget);
}

void Sglang::turn(StepPlan& plan) {
  merge_last();
  if (!received_.empty()) join_received();
  if (!plan_prefill(plan) && !running_.empty()) plan_decode(plan);
  if (!plan.empty()) {
    ++in_flight_;
  } else if (in_flight_ == 0) {
    ratio_ = init_ratio_;
  }
}

// The sequences of the last prefill decode from now on, except one whose prompt is not finished.
void Sglang::merge_last() {
  if (cut_ != nullptr) pool_.cache_prefix(cut_->slot, cut_->computed_tokens);
  if (last_.empty()) return;
  const std::int32_t size = last_.size();
  last_.filter();
  if (cut_ != nullptr) last_.remove(cut_);
  if (last_.size() < size) running_.full = false;
  if (!last_.empty() && running_.empty()) {
    std::swap(running_, last_);
  } else {
    running_.members.insert(running_.members.end(), last_.members.begin(), last_.members.end());
  }
  last_ = SglangBatch();
}

// Whether the step is a prefill.
bool Sglang::plan_prefill(StepPlan& plan) {
  if (cut_ == nullptr) {
    if (running_.full || waiting_.empty()) return false;
    if (running_.size() >= max_running_) {
      running_.full = true;
      full_by_ = HeldBack::kSeats;
      return false;
    }
  }
  policy_.sort(waiting_, output_budget_, pool_);
  settle();
  SglangPrefill round(limits_, pool_, running_, ratio_, mixed_ ? running_.size() : 0,
                      output_budget_);
  if (!pick_waiting(round)) return false;

  cut_ = round.cut();
  // At more than one token a page the engine makes room for a page more a sequence than it needs.
  const auto picks = static_cast<std::int64_t>(round.picks().size());
  const std::int64_t spare = pool_.page_size() > 1 ? picks * pool_.page_size() : 0;
  pool_.make_room(round.extend_tokens() + spare);
  for (const SglangPrefill::Pick& pick : round.picks()) start(pick, plan);
  if (mixed_ && !running_.empty()) mix_in_decodes(plan);
  return true;
}

// The picks of a round: the cut sequence, then the waiting ones. False when there are none.
bool Sglang::pick_waiting(SglangPrefill& round) {
  if (cut_ != nullptr) {
    round.resume(*cut_);
    if (round.picks().empty()) return false;
  }
  std::size_t taken = 0;
  for (Sequence* s : waiting_) {
    const auto picks = static_cast<std::int32_t>(round.picks().size());
    if (picks >= max_running_ - running_.size()) {
      running_.full = true;
      full_by_ = HeldBack::kSeats;
    }
    if (running_.full) break;
    const SglangPrefill::Verdict verdict = round.add(*s);
    if (static_cast<std::int32_t>(round.picks().size()) > picks) ++taken;
    if (verdict == SglangPrefill::Verdict::kNoToken) {
      running_.full = true;
      full_by_ = HeldBack::kKvBlocks;
    }
    if (verdict != SglangPrefill::Verdict::kContinue) break;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(taken));
  return !round.picks().empty();
}

// Schedules a pick: an admission, or the next chunk of the sequence that was cut.
void Sglang::start(const SglangPrefill::Pick& pick, StepPlan& plan) {
  Sequence& s = *pick.sequence;
  ScheduledKind kind = ScheduledKind::kRunning;
  if (s.state != SequenceState::kRunning) {
    kind = s.state == SequenceState::kPreempted ? ScheduledKind::kResumed : ScheduledKind::kNew;
    if (kind == ScheduledKind::kNew) pool_.count_query(s.known_tokens(), pick.prefix_tokens);
    s.state = SequenceState::kRunning;
    s.cached_tokens = std::min(pick.prefix_tokens, s.prompt_tokens);
    ++running_count_;
  }
  pool_.extend(s.slot, pick.extend_tokens);
  s.computed_tokens = pick.prefix_tokens + pick.extend_tokens;
  const bool samples = &s != cut_;
  if (samples) ++s.placeholders;
  plan.scheduled.push_back({.sequence = &s,
                            .kind = kind,
                            .computed_before = pick.prefix_tokens,
                            .num_tokens = pick.extend_tokens,
                            .samples = samples,
                            .prefill = true,
                            .preemptions = s.preemptions});
  plan.total_tokens += pick.extend_tokens;
  last_.members.push_back(member(s));
}

void Sglang::mix_in_decodes(StepPlan& plan) {
  running_.filter();
  if (!running_.empty() && !decodes_fit(running_.members)) retract(running_, 0, plan);
  schedule_decodes(running_, plan);
  last_.members.insert(last_.members.end(), running_.members.begin(), running_.members.end());
  running_.members.clear();  // its flag stays
}

void Sglang::plan_decode(StepPlan& plan) {
  const std::int32_t size = running_.size();
  running_.filter();
  if (running_.empty()) {
    running_.full = false;
    return;
  }
  if (!decodes_fit(running_.members)) {
    scatter_all(plan);
    // Alone it fits, unless there is KV for or from other replicas.
    const bool between = expected_ + kept_ > 0 || !received_.empty();
    retract(running_, between ? 0 : 1, plan);
    estimate_ratio();
  } else {
    ratio_ = std::max(ratio_ - ratio_decay_, min_ratio_);
  }
  if (running_.size() < size) running_.full = false;
  schedule_decodes(running_, plan);
  if (gathers_) gather(plan);
}

// A token more for each member of the batch. REQUIRES: decodes_fit.
void Sglang::schedule_decodes(const SglangBatch& batch, StepPlan& plan) {
  pool_.make_room(static_cast<std::int64_t>(batch.size()) * pool_.page_size());
  if (!decodes_.empty()) {
    pool_.tick();
    plan.decodes = decodes_.tick();
  }
  for (auto i = static_cast<std::size_t>(decodes_.size()); i < batch.members.size(); ++i) {
    Sequence& s = *batch.members[i].sequence;
    pool_.extend(s.slot, 1);
    const bool first = std::exchange(s.received, false);
    plan.scheduled.push_back({.sequence = &s,
                              .kind = first ? ScheduledKind::kNew : ScheduledKind::kRunning,
                              .computed_before = s.computed_tokens,
                              .num_tokens = 1,
                              .samples = true,
                              .preemptions = s.preemptions});
    ++s.computed_tokens;
    ++s.placeholders;
  }
  plan.total_tokens += batch.size();
}

// Whether every member can store one token more; evicts what that takes.
bool Sglang::decodes_fit(const std::vector<SglangBatch::Member>& members) {
  const auto first = members.begin() + decodes_.size();  // not gathered
  const std::int64_t pages =
      pool_.pages_next_tick() + std::count_if(first, members.end(), [&](const auto& m) {
        return pool_.slack(m.sequence->slot) == 0;
      });
  return pool_.make_room(pages * pool_.page_size());
}

// Retracts members of the batch until the others can decode: those with the least output first, of
// equal ones the longest prompt. At least one goes, `keep` stay. Leaves the batch in that order.
void Sglang::retract(SglangBatch& batch, std::size_t keep, StepPlan& plan) {
  std::vector<SglangBatch::Member>& members = batch.members;
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    if (a.sequence->output_tokens != b.sequence->output_tokens) {
      return a.sequence->output_tokens > b.sequence->output_tokens;
    }
    return a.sequence->prompt_tokens < b.sequence->prompt_tokens;
  });
  bool fits = false;
  while (!fits && members.size() > keep) {
    Sequence& victim = *members.back().sequence;
    members.pop_back();
    retract(victim, plan);
    const auto left = static_cast<std::int64_t>(members.size());
    pool_.make_room(left * retract_decode_steps_);
    fits = decodes_fit(members);
  }
  if (fits || members.empty()) return;
  if (cut_ != nullptr && !decodes_fit(members)) {
    retract(*std::exchange(cut_, nullptr), plan);
  }
  SIM_CHECK(decodes_fit(members), "a sequence that runs alone finds no memory");
}

void Sglang::retract(Sequence& s, StepPlan& plan) {
  pool_.drop(s.slot);
  s.state = SequenceState::kPreempted;
  s.computed_tokens = 0;
  s.placeholders = 0;
  s.received = false;
  ++s.preemptions;
  --running_count_;
  waiting_.push_back(&s);
  plan.preempted.push_back(&s);
}

// After a retraction: what the survivors have produced, and will before the next one, of their
// limit.
void Sglang::estimate_ratio() {
  std::int64_t output = 0;
  std::int64_t budget = 1;
  for (const SglangBatch::Member& m : running_.members) {
    output += m.sequence->output_tokens + retract_decode_steps_;
    budget += m.output_budget;
  }
  ratio_ = std::min(1.0, static_cast<double>(output) / static_cast<double>(budget));
}

void Sglang::complete(const StepPlan& plan, const StepResult&, StepUpdate& update) {
  update.clear();
  --in_flight_;
  if (plan.decodes.sequences > 0) complete_gathered(update);
  complete_entries(plan.scheduled, update);
  for (const Sequence* s : update.finished) {
    running_.note_ended(*s);
    last_.note_ended(*s);
  }
}

void Sglang::complete_entries(std::span<const ScheduledSequence> entries, StepUpdate& update) {
  for (const ScheduledSequence& entry : entries) {
    Sequence& s = *entry.sequence;
    // A sequence that has ended, or lost its KV, since the step was planned: the token is dropped.
    if (!entry.samples || s.finished() || s.preemptions != entry.preemptions) continue;
    --s.placeholders;
    ++s.output_tokens;
    update.emitted.push_back({&s, 1});
    if (s.output_tokens == longest_output(s)) {
      end_answer(s, update);
    } else if (entry.prefill) {
      pool_.cache_prefix(s.slot, entry.computed_before + entry.num_tokens);
    }
  }
}

void Sglang::end_answer(Sequence& s, StepUpdate& update) {
  const bool stopped = s.output_tokens == s.output_target && s.output_target < s.max_tokens;
  finish(s, stopped ? FinishReason::kStop : FinishReason::kLength);
  update.finished.push_back(&s);
}

std::unique_ptr<Scheduler> make_sglang(const SchedulerConfig& config) {
  const EngineOptions& engine = config.engine;
  const std::string& allocator = engine.kv_allocator;
  if (!allocator.empty() && allocator != "paged") {
    throw InputError({.place = "engine.kv_allocator",
                      .found = "\"" + allocator + "\"",
                      .expected = "\"paged\" for sglang"});
  }
  if (engine.chunked_prefill_size > 0 && engine.chunked_prefill_size % engine.page_size != 0) {
    throw InputError(
        {.place = "engine.chunked_prefill_size",
         .found = std::to_string(engine.chunked_prefill_size),
         .expected = "a multiple of page_size, which is " + std::to_string(engine.page_size)});
  }
  if (engine.page_size % engine.block_size != 0 && engine.block_size % engine.page_size != 0) {
    throw InputError({.place = "engine.page_size",
                      .found = std::to_string(engine.page_size),
                      .expected = "a divisor or a multiple of block_size, which is " +
                                  std::to_string(engine.block_size)});
  }
  if (engine.page_size > config.num_blocks * engine.block_size) {
    throw InputError({.place = "engine.page_size",
                      .found = std::to_string(engine.page_size),
                      .expected = "at most the KV pool of " +
                                  std::to_string(config.num_blocks * engine.block_size) +
                                  " tokens"});
  }
  refuse_speculation(config);
  if (config.pipeline_parallel_size > 1) {
    throw InputError({.place = "parallel.pipeline_parallel_size",
                      .found = std::to_string(config.pipeline_parallel_size),
                      .expected = "1 with the scheduler sglang"});
  }
  SIM_CHECK(config.batches_in_flight <= (engine.async_scheduling ? 2 : 1));
  return std::make_unique<Sglang>(config);
}

}  // namespace headway
