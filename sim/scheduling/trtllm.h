#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "sim/kv/counted_kv.h"
#include "sim/scheduling/decode_set.h"
#include "sim/scheduling/scheduler.h"
#include "sim/scheduling/trtllm_chunking.h"

namespace headway {

enum class CapacityPolicy : std::uint8_t { kGuaranteedNoEvict, kMaxUtilization, kStaticBatch };

// Settings under TensorRT-LLM's names; amounts in tokens unless said otherwise.
struct TrtllmOptions {
  CapacityPolicy policy = CapacityPolicy::kGuaranteedNoEvict;
  ContextChunking chunking = ContextChunking::kOff;
  std::int32_t max_num_requests = 0;  // that hold KV
  std::int32_t max_batch_size = 0;    // requests of one step
  std::int32_t max_num_tokens = 0;    // of one step
  std::int32_t max_context_length = std::numeric_limits<std::int32_t>::max();  // of one chunk
  std::int32_t max_model_len = 0;
  std::int32_t chunk_unit_size = 0;
  std::int64_t num_blocks = 0;        // KV blocks
  std::int32_t tokens_per_block = 0;
  bool two_steps_look_ahead = false;  // several micro-batches are in flight
  bool speculates = false;            // drafts may be proposed
  bool gather_decodes = false;        // generations are planned together (decode_set.h)
};

// TensorRT-LLM's batch manager, as its C++ sources stood in 2026 (cpp/tensorrt_llm/batch_manager:
// capacityScheduler.cpp, microBatchScheduler.cpp, kvCacheManager.cpp, scheduledBlocksManager.h); the
// recordings we replay come from an independent model of that code, checked against its unit tests.
//
// Two stages a step, over all requests by urgency, then arrival; a paused one keeps its place.
// Sequence::priority is vLLM's (smaller = more urgent), TensorRT-LLM's own counts the other way.
//  1. Capacity: who may hold KV. GUARANTEED_NO_EVICT reserves every request's blocks to its very end
//     (prompt + max_tokens) before the next is let in, and nobody overtakes one that does not fit.
//     STATIC_BATCH is the same, but lets nobody in while someone generates. MAX_UTILIZATION asks for
//     the blocks of one step only (two, with several micro-batches in flight), and where they are
//     short, or the seats, it pauses the last request under way: its KV is dropped and what it has
//     generated becomes prompt.
//  2. Micro-batch: of those, who runs: prompts (whole, or in chunks), then generations, each with its
//     drafts, within max_batch_size and max_num_tokens. Without chunking the first request that does
//     not fit ends the batch.
//
// With several plans outstanding (pipeline stages) a request is part of one at a time.
//
// Without drafts and with one micro-batch in flight, generations are gathered (trtllm_gathered.cpp,
// decode_set.h): all that sample stand apart from started_, and as long as no limit cuts any of
// them off, both stages count them as one.
//
// Not followed: block reuse, and with it the rule that a prompt waits for a block which another one
// is about to compute; disaggregated serving; beams. A request in flight is not paused; TensorRT-LLM
// flags it and pauses it when its micro-batch returns, we decide again then. Where GUARANTEED_NO_EVICT
// would wait for ever (prompts half computed hold the blocks that a more urgent newcomer needs, and
// nothing generates), the prompts under way go on.
// A paused request's new prompt is cut to the longest prompt allowed (max_num_tokens without
// chunking); what was cut off is generated again, and not sent to the client again.
class Trtllm : public Scheduler {
 public:
  explicit Trtllm(const TrtllmOptions& options);

  void add(Sequence& sequence) override;
  void abort(Sequence& sequence) override;
  void plan(SimTime now, StepPlan& plan) override;
  void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) override;
  void repeats(const StepPlan& plan, Repeats& out) const override;
  void repeat(const StepPlan& plan, std::int64_t steps) override;
  void write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const override;
  void settle() override;

  std::int64_t waiting() const override {
    return static_cast<std::int64_t>(waiting_.size() + refused_.size());
  }
  std::int64_t running() const override { return std::ssize(started_) + std::ssize(gathered_); }
  KvUsage kv_usage() const override { return kv_.usage(); }
  void check_kv() const override;

  // For replays and tests.
  // What stage 1 of the last plan let through, in its order.
  std::vector<Sequence*> fitting() const;
  std::int64_t blocks_held(const Sequence& s) const { return kv_.blocks_of(s.slot); }
  // Tokens that its context phase computes: the prompt as sent and, after a pause, answers so far.
  std::int32_t prompt_length(const Sequence& s) const { return side_[s.slot].prompt_length; }
  // Prompt and output that it may reach.
  std::int32_t longest(const Sequence& s) const;

 private:
  struct Side {
    std::int32_t prompt_length = 0;
    bool in_flight = false;
  };
  struct MoreUrgent {
    bool operator()(const Sequence* a, const Sequence* b) const {
      return a->priority != b->priority ? a->priority < b->priority : a->order < b->order;
    }
  };
  using WaitingSet = std::set<Sequence*, MoreUrgent>;
  class Walk;  // over started and waiting requests in one order

  // Stage 1 (trtllm_capacity.cpp): fills fitting_, returns those to be paused, in that order.
  void fit_reserved();
  void fit_pending(std::int64_t free_blocks);
  std::vector<Sequence*> fit_max_utilization();
  std::int64_t seats_left() const {
    return options_.max_num_requests - together_ - std::ssize(fitting_);
  }
  void note_held() {
    line_held_by_ = seats_left() <= 0 ? HeldBack::kSeats : HeldBack::kKvBlocks;
  }
  std::int64_t blocks_to_completion(const Sequence& s) const;
  std::int64_t blocks_of_next_step(const Sequence& s) const;
  std::size_t last_pausable(const Sequence& current, std::size_t end) const;

  // Stage 2 (trtllm_micro_batch.cpp): of fitting_ into the plan. Returns the first that found no
  // place in it, null where all did.
  const Sequence* choose_batch();

  // Decodes planned together (trtllm_gathered.cpp).
  bool choose_with_gathered();
  bool fit_max_utilization_with_gathered();
  bool behind_all(const Sequence& s) const;
  void plan_gathered(StepPlan& plan);
  bool may_gather(const Sequence& s) const;
  void gather(StepPlan& plan);
  void scatter_all(StepPlan& plan);
  void leave_gathered(Sequence& s);
  void tick_kv(std::int64_t ticks);
  void complete_gathered(StepUpdate& update);
  void repeats_of_gathered(Repeats& out) const;

  bool generating(const Sequence& s) const {
    return s.state == SequenceState::kRunning && s.computed_tokens >= prompt_length(s);
  }
  bool in_flight(const Sequence& s) const { return side_[s.slot].in_flight; }
  std::int32_t drafts(const Sequence& s) const;
  std::int32_t longest_prompt() const;
  std::int32_t output_goal(const Sequence& s) const;  // output tokens it ends with
  std::string why_never(const Sequence& s) const;  // "" = it can run
  void pause(Sequence& s, StepPlan& plan);
  void schedule(Sequence& s, std::int32_t tokens, std::int32_t drafts, StepPlan& plan);
  void finish(Sequence& s, FinishReason reason);
  void end_answer(Sequence& s, StepUpdate& update);

  TrtllmOptions options_;
  CountedKv kv_;
  std::vector<Sequence*> started_;  // hold KV; by MoreUrgent; without the gathered
  DecodeSet decodes_{false};
  std::vector<Sequence*> gathered_;  // its members; by MoreUrgent
  std::int64_t to_completion_ = 0;   // blocks that they will have taken more when all are done
  bool gathers_;
  WaitingSet waiting_;              // new or paused
  std::vector<Rejection> refused_;  // at the door; reported by the next plan
  std::vector<Side> side_;          // by slot

  // Of the plan being made.
  std::int64_t together_ = 0;  // the gathered that it counts as one
  std::vector<Sequence*> fitting_;  // besides
  HeldBack line_held_by_ = HeldBack::kUnsaid;  // what the first that is not fitting lacked
  std::vector<Sequence*> contexts_;
  std::vector<ContextChunk> chunks_;  // of contexts_
  std::vector<Sequence*> generations_;
};

}  // namespace headway
