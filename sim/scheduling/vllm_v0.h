#pragma once

#include <deque>
#include <span>
#include <vector>

#include "sim/kv/vllm_v0_blocks.h"
#include "sim/scheduling/decode_set.h"
#include "sim/scheduling/scheduler.h"

namespace headway {

// The scheduler of vLLM V0 at a0304dc504c8 (2025-04-28, v0.8.5; vllm/core/scheduler.py). Two rules,
// chosen by enable_chunked_prefill:
//  - default: a step is all prefill while any waiting prompt can be admitted (whole, head of line,
//    above the watermark), else all decode; nothing is prefilled while anything is swapped out;
//  - chunked: one token budget a step, for running sequences in queue order (decodes and prompts
//    under way), then swapped ones, then new prompts.
// Short of KV, the last running sequence is preempted: recomputed, or swapped to host memory.
//
// Without prefix caching and priorities, decoding sequences are gathered (vllm_v0_gathered.cpp,
// decode_set.h): they come before running_. In the chunked rule, which puts in front what comes
// back from host memory, they do not while anything is there.
//
// Where vLLM V0 would stop with an error or wait for ever, this goes on: without room in host
// memory a victim is recomputed; a prompt that was swapped out half done and is longer than the
// budget is cut to it; a prompt under way that holds the whole cache goes on without a free block;
// a swapped sequence that even the empty cache cannot take back is rejected. Not modelled: several
// samples a request, LoRA, multi-step, lookahead slots.
class VllmV0 final : public Scheduler {
 public:
  explicit VllmV0(const SchedulerConfig& config);

  void add(Sequence& sequence) override;
  void abort(Sequence& sequence) override;
  void plan(SimTime now, StepPlan& plan) override;
  void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) override;
  void repeats(const StepPlan& plan, Repeats& out) const override;
  void repeat(const StepPlan& plan, std::int64_t steps) override;
  void write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const override;
  void settle() override;

  std::int64_t waiting() const override { return std::ssize(waiting_) + std::ssize(swapped_); }
  std::int64_t running() const override { return std::ssize(gathered_) + std::ssize(running_); }
  KvUsage kv_usage() const override { return kv_.usage(); }
  void check_kv() const override;

  // For replays and tests: the queues in order, the KV, and more of the last plan.
  using Queue = std::deque<Sequence*>;
  const Queue& waiting_queue() const { return waiting_; }
  Queue running_queue() const {
    Queue all(gathered_.begin(), gathered_.end());
    all.insert(all.end(), running_.begin(), running_.end());
    return all;
  }
  const Queue& swapped_queue() const { return swapped_; }
  VllmV0Blocks& kv() { return kv_; }
  const VllmV0Blocks::SwapPairs& swapped_in() const { return swapped_in_; }
  const VllmV0Blocks::SwapPairs& swapped_out() const { return swapped_out_; }
  // Preempted to make room for a more urgent waiting request (policy "priority"); the first of
  // plan.preempted.
  std::int64_t forced_preemptions() const { return forced_; }

 private:
  using Batch = std::vector<ScheduledSequence>;

  // What a step has spent. Tokens found in the prefix cache are free of charge.
  struct Budget {
    std::int32_t tokens = 0;
    std::int32_t sequences = 0;
  };
  // New tokens of a sequence: to compute, and found in the prefix cache.
  struct NewTokens {
    std::int32_t uncached = 0;
    std::int32_t cached = 0;
  };
  // Chunked: how many prompts may be under way at once, and how many long ones are.
  struct PartialPrefills {
    std::int32_t schedulable = 0;
    std::int32_t long_ones = 0;
  };

  void plan_default(SimTime now, StepPlan& plan);
  void plan_chunked(SimTime now, StepPlan& plan);
  // Each takes sequences off its queue; the caller puts them into the running queue.
  Batch schedule_prefills(SimTime now, Budget& budget, PartialPrefills* partial, StepPlan& plan);
  Batch schedule_running(Budget& budget, const PartialPrefills* partial, StepPlan& plan);
  Batch schedule_swapped(Budget& budget, StepPlan& plan);
  void preempt_for_priority(Budget& budget, StepPlan& plan);

  bool passed_delay(SimTime now);
  NewTokens new_tokens(const Sequence& sequence, const Budget& budget,
                       const PartialPrefills* partial);
  std::int32_t chunk(std::int32_t tokens, const Budget& budget,
                     const PartialPrefills* partial) const;
  PartialPrefills count_partial_prefills() const;
  bool is_long(const Sequence& sequence) const;
  bool affords(const Budget& budget, std::int32_t tokens) const;

  void schedule(Sequence& sequence, const NewTokens& tokens, ScheduledKind kind, Batch& batch);
  void preempt(Sequence& sequence, bool may_swap, StepPlan& plan);
  void reject(Sequence& sequence, std::string reason, StepPlan& plan);
  void enter_running(const Batch& batch);
  static void append(const Batch& batch, StepPlan& plan);
  std::int32_t tokens_to_prefill(const Sequence& sequence) const;
  bool prefilling(const Sequence& sequence) const { return tokens_to_prefill(sequence) > 0; }
  std::int32_t output_goal(const Sequence& sequence) const;
  bool nobody_will_join(const StepPlan& plan) const;
  void complete_entries(std::span<const ScheduledSequence> entries, StepUpdate& update);
  void end_answer(Sequence& sequence, StepUpdate& update);

  // Decodes planned together (vllm_v0_gathered.cpp).
  void plan_gathered(Budget& budget, const PartialPrefills* partial, StepPlan& plan);
  bool leaves_any(Budget left, const PartialPrefills* partial);
  bool may_gather(const Sequence& sequence) const;
  void gather(StepPlan& plan);
  void leave_gathered(Sequence& sequence);
  void scatter_all(StepPlan& plan);
  void complete_gathered(StepUpdate& update);
  // Smaller is more urgent; ties go by arrival.
  static bool more_urgent(const Sequence* a, const Sequence* b);

  const EngineOptions engine_;
  const std::int32_t token_budget_;
  const std::int32_t long_prefill_threshold_;
  VllmV0Blocks kv_;
  Queue waiting_, running_, swapped_;
  DecodeSet decodes_{false};
  std::vector<Sequence*> gathered_;  // its members; the head of the running queue, not in running_
  bool gathers_;
  std::vector<std::int32_t> prefill_target_;  // by slot: tokens known when (re)admitted

  // delay_factor
  SimTime last_look_;
  SimTime last_prompt_latency_;
  bool last_was_prompt_ = false;

  // Of the last plan.
  VllmV0Blocks::SwapPairs swapped_in_, swapped_out_;
  std::vector<Sequence*> recompute_, swap_out_;  // victims, until they join their queues
  std::int64_t forced_ = 0;

  mutable std::vector<std::uint32_t> slots_;  // buffer of repeats() and repeat()
};

}  // namespace headway
