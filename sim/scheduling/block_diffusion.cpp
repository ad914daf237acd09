// Continuous batching for diffusion language models that answer block by block: BD3-LMs (Arriola et
// al. 2025), and LLaDA under Fast-dLLM's block-wise cache (Wu et al. 2025).
//
// A block of masked tokens is refined in a number of passes, all its tokens in each of them, over the
// KV of what came before; the last pass leaves the block's KV and yields its tokens at once. Requests
// join and leave between passes; those in one step may stand at different passes of their blocks.
// Prompts are computed whole, since a block may look at all of one. First come first served; where KV
// runs short the latest admitted yields, and what it refined of its block is lost.
#include <algorithm>
#include <deque>

#include "sim/core/errors.h"
#include "sim/kv/counted_kv.h"
#include "sim/scheduling/batch_scheduler.h"
#include "sim/scheduling/policies.h"
#include "sim/scheduling/speculation_support.h"

namespace headway {
namespace {

class BlockDiffusion final : public Scheduler {
 public:
  explicit BlockDiffusion(const SchedulerConfig& config)
      : engine_(config.engine),
        block_length_(config.block_length),
        refinement_steps_(config.refinement_steps),
        kv_(make_paged_kv(config)) {
    refuse_speculation(config);
    SIM_CHECK(block_length_ >= 1 && refinement_steps_ >= 1);
    if (engine_.max_num_batched_tokens < block_length_) {
      throw InputError({.place = "engine.max_num_batched_tokens",
                        .found = std::to_string(engine_.max_num_batched_tokens),
                        .expected = "at least the model's blocks of " +
                                    std::to_string(block_length_) + " tokens"});
    }
  }

  void add(Sequence& sequence) override {
    sequence.state = SequenceState::kWaiting;
    waiting_.push_back(&sequence);
  }

  void abort(Sequence& sequence) override {
    if (sequence.finished()) return;
    if (sequence.state == SequenceState::kRunning) {
      std::erase_if(running_, [&](const Refining& r) { return r.sequence == &sequence; });
      kv_->release(sequence.slot);
    } else {
      std::erase(waiting_, &sequence);
    }
    finish(sequence, FinishReason::kAborted);
  }

  void plan(SimTime now, StepPlan& plan) override {
    plan.clear();
    refine(plan);
    if (plan.preempted.empty()) admit_waiting(plan);
    const bool acted = !plan.preempted.empty() || !plan.rejected.empty();
    if (plan.empty() && acted && !waiting_.empty()) plan.wake_at = now;
  }

  void complete(const StepPlan& plan, const StepResult&, StepUpdate& update) override {
    update.clear();
    for (const ScheduledSequence& entry : plan.scheduled) {
      Sequence& sequence = *entry.sequence;
      if (!entry.samples || sequence.finished()) continue;
      const std::int32_t goal = std::min(sequence.output_target, longest_answer(sequence));
      const std::int32_t tokens = std::min(entry.num_tokens, goal - sequence.output_tokens);
      sequence.output_tokens += tokens;
      update.emitted.push_back({&sequence, tokens});
      if (sequence.output_tokens < goal) continue;
      const bool stopped = goal == sequence.output_target && goal < sequence.max_tokens;
      kv_->release(sequence.slot);
      finish(sequence, stopped ? FinishReason::kStop : FinishReason::kLength);
      update.finished.push_back(&sequence);
    }
    if (update.finished.empty()) return;
    std::erase_if(running_, [](const Refining& r) { return r.sequence->finished(); });
  }

  std::int64_t waiting() const override { return std::ssize(waiting_); }
  std::int64_t running() const override { return std::ssize(running_); }
  KvUsage kv_usage() const override { return kv_->usage(); }

  void check_kv() const override {
    kv_->check();
    std::int64_t held = 0;
    for (const Refining& r : running_) held += kv_->blocks_of(r.sequence->slot);
    SIM_CHECK(held == kv_->usage().held_blocks, "INV-2: KV held by nobody");
  }

 private:
  struct Refining {
    Sequence* sequence = nullptr;
    std::int32_t width = 0;        // tokens of the block in work; 0 = none
    std::int32_t passes_left = 0;  // over it
  };

  static void finish(Sequence& sequence, FinishReason reason) {
    sequence.state = SequenceState::kFinished;
    sequence.finish_reason = reason;
  }

  // Tokens that may be asked for: the model does not know where it will stop.
  std::int32_t longest_answer(const Sequence& s) const {
    return std::min(s.max_tokens, engine_.max_model_len - s.prompt_tokens);
  }

  std::int32_t next_width(const Sequence& s) const {
    return std::min(block_length_, longest_answer(s) - s.output_tokens);
  }

  // The next pass over the blocks of all that run, in order of admission, within the budget.
  void refine(StepPlan& plan) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Sequence& sequence = *running_[i].sequence;
      if (running_[i].width == 0) {
        const std::int32_t width = next_width(sequence);
        if (plan.total_tokens + width > engine_.max_num_batched_tokens) return;
        while (i < running_.size() &&
               !kv_->store(sequence.slot, sequence.computed_tokens + width)) {
          preempt_last(plan);
        }
        if (i == running_.size()) return;  // it had to yield itself
        running_[i].width = width;
        // A last block that is cut short takes its share of the passes.
        running_[i].passes_left = static_cast<std::int32_t>(
            ceil_div(std::int64_t{refinement_steps_} * width, block_length_));
      }
      if (plan.total_tokens + running_[i].width > engine_.max_num_batched_tokens) return;
      schedule_pass(running_[i], plan);
    }
  }

  static void schedule_pass(Refining& r, StepPlan& plan) {
    const bool last = --r.passes_left == 0;
    plan.scheduled.push_back({.sequence = r.sequence,
                              .computed_before = r.sequence->computed_tokens,
                              .num_tokens = r.width,
                              .samples = last,
                              .refines = true});
    plan.total_tokens += r.width;
    if (!last) return;
    r.sequence->computed_tokens += r.width;
    r.width = 0;
  }

  void preempt_last(StepPlan& plan) {
    Sequence& victim = *running_.back().sequence;
    running_.pop_back();
    kv_->release(victim.slot);
    victim.state = SequenceState::kPreempted;
    victim.computed_tokens = 0;
    ++victim.preemptions;
    waiting_.push_front(&victim);
    plan.preempted.push_back(&victim);
  }

  // Whole prompts, head of line; one longer than the budget is the only one of its step.
  void admit_waiting(StepPlan& plan) {
    bool first = true;
    while (running() < engine_.max_num_seqs && !waiting_.empty()) {
      Sequence& sequence = *waiting_.front();
      if (std::string reason = why_never(sequence); !reason.empty()) {
        waiting_.pop_front();
        finish(sequence, FinishReason::kRejected);
        plan.rejected.push_back({&sequence, std::move(reason)});
        continue;
      }
      const std::int32_t tokens = sequence.known_tokens();
      const bool alone = first && tokens > engine_.max_num_batched_tokens;
      if (!alone && tokens > engine_.max_num_batched_tokens - plan.total_tokens) return;
      if (!kv_->can_admit(demand(sequence), 0)) return;
      admit(sequence, tokens, plan);
      if (alone) return;
      first = false;
    }
  }

  void admit(Sequence& sequence, std::int32_t tokens, StepPlan& plan) {
    const bool resumed = sequence.state == SequenceState::kPreempted;
    waiting_.pop_front();
    kv_->admit(sequence.slot, demand(sequence));
    kv_->store(sequence.slot, tokens);
    sequence.state = SequenceState::kRunning;
    sequence.computed_tokens = tokens;
    running_.push_back({&sequence});
    plan.scheduled.push_back(
        {.sequence = &sequence,
         .kind = resumed ? ScheduledKind::kResumed : ScheduledKind::kNew,
         .num_tokens = tokens,
         .prefill = true});
    plan.total_tokens += tokens;
  }

  // Unlike a model that decodes, it stores the KV of its last token too: blocks are whole.
  AdmissionDemand demand(const Sequence& s) const {
    const std::int32_t goal = std::min(s.output_target, longest_answer(s));
    const auto blocks = static_cast<std::int32_t>(ceil_div(goal, block_length_));
    const std::int32_t stored = std::min(blocks * block_length_, longest_answer(s));
    return {s.prompt_tokens, stored + 1, s.known_tokens()};
  }

  std::string why_never(const Sequence& s) const {
    if (s.prompt_tokens >= engine_.max_model_len) {
      return "prompt of " + std::to_string(s.prompt_tokens) +
             " tokens leaves no room for an answer in max_model_len " +
             std::to_string(engine_.max_model_len);
    }
    if (kv_->ever_fits(demand(s), 0)) return {};
    return "needs KV for " + std::to_string(s.prompt_tokens) + " prompt tokens and blocks of " +
           std::to_string(block_length_) + " for " + std::to_string(s.output_target) +
           " output tokens, more than the cache has";
  }

  const EngineOptions engine_;
  const std::int32_t block_length_;
  const std::int32_t refinement_steps_;
  std::unique_ptr<KvStore> kv_;
  std::deque<Sequence*> waiting_;
  std::vector<Refining> running_;
};

}  // namespace

std::unique_ptr<Scheduler> make_block_diffusion(const SchedulerConfig& config) {
  return std::make_unique<BlockDiffusion>(config);
}

}  // namespace headway
