#include "sim/scheduling/llamacpp.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/core/errors.h"
#include "sim/kv/kv_store.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

// slot_prompt_similarity: the part of a prompt that must be there already for its slot to be chosen.
constexpr double kSimilarity = 0.1;

}  // namespace

LlamaCpp::LlamaCpp(const SchedulerConfig& config)
    : block_size_(config.kv.plain() ? config.engine.block_size : 0),
      num_blocks_(config.num_blocks),
      layout_(config.kv),
      max_model_len_(config.engine.max_model_len),
      batch_tokens_(std::min(config.engine.n_batch, config.engine.max_num_batched_tokens)),
      piece_tokens_(config.engine.n_ubatch),
      reuse_(config.engine.enable_prefix_caching),
      speculates_(config.num_speculative_tokens > 0),
      slots_(static_cast<std::size_t>(
          std::min(config.engine.n_parallel, config.engine.max_num_seqs))) {
  SIM_CHECK(!slots_.empty() && batch_tokens_ > 0 && piece_tokens_ > 0 && max_model_len_ > 0);
  slot_blocks_ = num_blocks_ / std::ssize(slots_);
  if (layout_.groups.empty()) layout_.block_size = config.engine.block_size;
  if (layout_.plain()) {
    context_ = static_cast<std::int32_t>(slot_blocks_ * config.engine.block_size);
    return;
  }
  while (context_ < max_model_len_ && blocks_of(context_ + 1) <= slot_blocks_) ++context_;
}

std::int32_t LlamaCpp::longest() const { return std::min(context(), max_model_len_); }

std::int32_t LlamaCpp::output_goal(const Sequence& s) const {
  return std::min({s.output_target, s.max_tokens, longest() - s.prompt_tokens});
}

void LlamaCpp::add(Sequence& s) {
  s.state = SequenceState::kWaiting;
  if (s.prompt_tokens < longest()) {
    deferred_.push_back(&s);
    return;
  }
  const bool slot_binds = context() < max_model_len_;
  refused_.push_back(
      {&s, std::string("the prompt leaves no room for an answer ") +
               (slot_binds ? "in the " + std::to_string(context()) +
                                 " tokens that each of " + std::to_string(slots_.size()) +
                                 " slots (n_parallel) has of the KV cache"
                           : "within max_model_len = " + std::to_string(max_model_len_))});
}

void LlamaCpp::abort(Sequence& s) {
  if (s.finished()) return;
  if (Slot* slot = find_slot(s)) {
    std::erase_if(batch_, [&](const Part& part) { return part.slot == slot; });
    std::erase_if(sampled_, [&](const Sample& sample) { return sample.sequence == &s; });
    release(*slot);
  } else if (std::erase(deferred_, &s) == 0) {
    std::erase_if(refused_, [&](const Rejection& rejection) { return rejection.sequence == &s; });
  }
  finish(s, FinishReason::kAborted);
}

void LlamaCpp::plan(SimTime, StepPlan& plan) {
  plan.clear();
  for (Rejection& refusal : refused_) {
    finish(*refusal.sequence, FinishReason::kRejected);
    plan.rejected.push_back(std::move(refusal));
  }
  refused_.clear();
  if (batch_.empty()) form_batch();
  take_piece(plan);
  if (!deferred_.empty()) plan.hold_back(*deferred_.front(), HeldBack::kSeats);
}

void LlamaCpp::assign_slots() {
  while (!deferred_.empty()) {
    Sequence& s = *deferred_.front();
    Slot* slot = choose_slot(*s.request, s.prompt_tokens);
    if (slot == nullptr) return;
    deferred_.pop_front();
    const std::int32_t known =
        std::min(common_prefix(*slot, *s.request, s.prompt_tokens), s.prompt_tokens - 1);
    slot->sequence = &s;
    slot->fresh = true;
    s.state = SequenceState::kRunning;
    s.computed_tokens = s.cached_tokens = known;
    if (!reuse_) continue;
    prefix_queries_ += static_cast<std::uint64_t>(s.prompt_tokens);
    prefix_hits_ += static_cast<std::uint64_t>(known);
  }
}

// The most similar idle slot, else the least recently used one; nullptr = none is idle.
LlamaCpp::Slot* LlamaCpp::choose_slot(const Request& request, std::int32_t prompt_tokens) {
  Slot* similar = nullptr;
  Slot* oldest = nullptr;
  double best = kSimilarity;
  for (Slot& slot : slots_) {
    if (slot.sequence != nullptr) continue;
    if (oldest == nullptr || slot.last_used < oldest->last_used) oldest = &slot;
    const double similarity =
        static_cast<double>(common_prefix(slot, request, prompt_tokens)) / prompt_tokens;
    if (similarity <= best) continue;
    best = similarity;
    similar = &slot;
  }
  return similar != nullptr ? similar : oldest;
}

// Ends at the first token that differs, so contents that cannot match cost one comparison.
std::int32_t LlamaCpp::common_prefix(const Slot& slot, const Request& request,
                                     std::int32_t prompt_tokens) const {
  if (!reuse_) return 0;
  const std::int32_t most = std::min(slot.cached_tokens, prompt_tokens);
  std::int32_t n = 0;
  while (n < most && token_at(slot.contents, n) == token_at(request, n)) ++n;
  // Windowed layers still have the tokens before position n only where it is near the end.
  return layout_.plain() || n >= slot.cached_tokens - piece_tokens_ ? n : 0;
}

void LlamaCpp::form_batch() {
  assign_slots();
  std::int32_t left = batch_tokens_;
  const auto generating = [](const Slot& slot) {
    return slot.sequence->computed_tokens >= slot.sequence->prompt_tokens;
  };
  for (Slot& slot : slots_) {
    if (slot.sequence == nullptr || !generating(slot) || left == 0) continue;
    const Sequence& s = *slot.sequence;
    // The draft's successor must still be wanted, and a verification is one pass.
    const std::int32_t drafts =
        std::max(0, std::min({s.draft_tokens, output_goal(s) - s.output_tokens - unsent(s) - 1,
                              left - 1, piece_tokens_ - 1}));
    batch_.push_back({&slot, 1 + drafts, drafts});
    left -= 1 + drafts;
  }
  for (Slot& slot : slots_) {
    if (slot.sequence == nullptr || generating(slot) || left == 0) continue;
    const Sequence& s = *slot.sequence;
    const std::int32_t tokens = std::min(left, s.prompt_tokens - s.computed_tokens);
    batch_.push_back({&slot, tokens, 0});
    left -= tokens;
  }
}

void LlamaCpp::take_piece(StepPlan& plan) {
  std::int32_t room = piece_tokens_;
  while (!batch_.empty() && room > 0) {
    Part& part = batch_.front();
    if (part.drafts > 0 && part.tokens > room) return;
    const std::int32_t tokens = std::min(part.tokens, room);
    schedule(*part.slot, tokens, part.drafts, plan);
    room -= tokens;
    part.tokens -= tokens;
    if (part.tokens == 0) batch_.pop_front();
  }
}

void LlamaCpp::schedule(Slot& slot, std::int32_t tokens, std::int32_t drafts, StepPlan& plan) {
  Sequence& s = *slot.sequence;
  const std::int32_t before = s.computed_tokens;
  s.computed_tokens += tokens;
  s.draft_tokens = 0;
  plan.scheduled.push_back(
      {.sequence = &s,
       .kind = slot.fresh ? ScheduledKind::kNew : ScheduledKind::kRunning,
       .computed_before = before,
       .num_tokens = tokens,
       .draft_tokens = drafts,
       .samples = s.computed_tokens - drafts == s.known_tokens() + unsent(s),
       .prefill = before < s.prompt_tokens});
  plan.total_tokens += tokens;
  slot.fresh = false;
}

void LlamaCpp::complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) {
  update.clear();
  for (std::size_t i = 0; i < plan.scheduled.size(); ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    if (entry.sequence->finished() || !entry.samples) continue;
    const std::int32_t accepted = result.accepted_drafts.empty() ? 0 : result.accepted_drafts[i];
    entry.sequence->computed_tokens -= entry.draft_tokens - accepted;
    sampled_.push_back({entry.sequence, accepted});
  }
  if (batch_.empty()) sample(update);
}

void LlamaCpp::sample(StepUpdate& update) {
  for (const Sample& sample : sampled_) {
    Sequence& s = *sample.sequence;
    if (s.finished()) continue;
    const std::int32_t kept =
        std::min(1 + sample.accepted, output_goal(s) - s.output_tokens);
    s.output_tokens += kept;
    const auto sent = std::find_if(update.emitted.begin(), update.emitted.end(),
                                   [&](const auto& emission) { return emission.sequence == &s; });
    if (sent != update.emitted.end()) {
      sent->tokens += kept;
    } else {
      update.emitted.push_back({&s, kept});
    }
    if (s.output_tokens < output_goal(s)) continue;
    const bool stopped = s.output_tokens == s.output_target && s.output_target < s.max_tokens;
    release(*find_slot(s));
    finish(s, stopped ? FinishReason::kStop : FinishReason::kLength);
    update.finished.push_back(&s);
  }
  sampled_.clear();
}

// An abort can leave a batch without the piece that would have ended it; what its earlier pieces
// sampled is then sent with the next batch.
std::int32_t LlamaCpp::unsent(const Sequence& s) const {
  std::int32_t tokens = 0;
  for (const Sample& sample : sampled_) {
    if (sample.sequence == &s) tokens += 1 + sample.accepted;
  }
  return tokens;
}

// The slot keeps what it has computed, until somebody else's prompt takes its place.
void LlamaCpp::release(Slot& slot) {
  if (reuse_) {
    slot.contents = *slot.sequence->request;
    slot.cached_tokens = std::min(slot.sequence->computed_tokens,
                                  slot.sequence->known_tokens() - 1);
  }
  slot.sequence = nullptr;
  slot.last_used = ++releases_;
}

void LlamaCpp::finish(Sequence& s, FinishReason reason) {
  s.state = SequenceState::kFinished;
  s.finish_reason = reason;
  s.draft_tokens = 0;
}

LlamaCpp::Slot* LlamaCpp::find_slot(const Sequence& s) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& other) { return other.sequence == &s; });
  return slot == slots_.end() ? nullptr : &*slot;
}

std::int32_t LlamaCpp::slot_of(const Sequence& s) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].sequence == &s) return static_cast<std::int32_t>(i);
  }
  return -1;
}

std::int64_t LlamaCpp::running() const {
  return std::count_if(slots_.begin(), slots_.end(),
                       [](const Slot& slot) { return slot.sequence != nullptr; });
}

KvUsage LlamaCpp::kv_usage() const {
  KvUsage usage{.total_blocks = num_blocks_, .block_size = block_size_};
  for (const Slot& slot : slots_) {
    if (slot.sequence == nullptr) {
      usage.cached_blocks += slot.cached_tokens > 0 ? blocks_of(slot.cached_tokens) : 0;
      continue;
    }
    const Sequence& s = *slot.sequence;
    const std::int32_t at_end = s.prompt_tokens + output_goal(s) - 1;
    usage.held_blocks += slot_blocks_;
    usage.tokens_stored += s.computed_tokens;
    if (!layout_.plain()) continue;
    usage.tokens_reserved_later += std::max(0, at_end - s.computed_tokens);
  }
  usage.free_blocks = usage.total_blocks - usage.held_blocks;
  if (layout_.plain()) {
    usage.tokens_never_used = usage.held_blocks * block_size_ - usage.tokens_stored -
                              usage.tokens_reserved_later;
  }
  usage.prefix_queries = prefix_queries_;
  usage.prefix_hits = prefix_hits_;
  return usage;
}

void LlamaCpp::check_kv() const {
  for (const Slot& slot : slots_) {
    const std::int32_t tokens =
        slot.sequence != nullptr ? slot.sequence->computed_tokens : slot.cached_tokens;
    SIM_CHECK(tokens >= 0 && tokens <= context(), "INV-2: a slot holds more than its context");
    if (slot.sequence != nullptr) SIM_CHECK(slot.sequence->state == SequenceState::kRunning);
  }
}

std::unique_ptr<Scheduler> make_llamacpp(const SchedulerConfig& config) {
  const std::string& allocator = config.engine.kv_allocator;
  if (!allocator.empty()) {
    throw InputError({.place = "engine.kv_allocator",
                      .found = "\"" + allocator + "\"",
                      .expected = "\"\" (llamacpp divides its cache among the slots)"});
  }
  return std::make_unique<LlamaCpp>(config);
}

}  // namespace headway
