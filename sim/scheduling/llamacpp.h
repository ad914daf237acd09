#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/scheduling/scheduler.h"

namespace headway {

// The slots of llama.cpp's server (ggml-org/llama.cpp, early 2026: tools/server/server-context.cpp),
// with continuous batching and a KV cache divided among the slots (kv_unified off).
//
// The cache of num_blocks * block_size tokens gives each of n_parallel slots an equal context, in
// whole blocks, for good. A request waits (first come, first served) for an idle slot: the one whose
// last contents are most like its prompt, if they share more than a tenth of it, else the one idle
// for longest. What the slot's contents have in common with the prompt is not computed again, but for
// the last prompt token (enable_prefix_caching off: all is computed).
// A batch has one token of every slot that generates (and its drafts), then prompts in the order of
// slots, up to n_batch tokens: the first hogs the batch.
// A prompt that leaves a slot no room for an answer is rejected; an answer that fills the slot ends
// there, by length.
//
// A batch runs in pieces of at most n_ubatch tokens, one pass of the model each: here each piece is a
// plan of its own, and the tokens of the whole batch are sampled with the last one. What a profile
// charges the host per step is charged per piece.
//
// Under a layout with windows (kv/kv_layout.h) a slot keeps, of a windowed layer, the window and a
// piece (llama_kv_cache_iswa without --swa-full), and reuses a prompt only where what differs from
// the slot's contents is within a piece of their end; states are a slot's own and never reused.
//
// Not followed: context shift and n_cache_reuse (both off by default), states saved to host memory,
// a unified cache. Slots never used are taken in order; the server takes them from the last.
// max_num_seqs and max_num_batched_tokens cap n_parallel and n_batch; priorities are unknown.
class LlamaCpp : public Scheduler {
 public:
  explicit LlamaCpp(const SchedulerConfig& config);

  void add(Sequence& sequence) override;
  void abort(Sequence& sequence) override;
  void plan(SimTime now, StepPlan& plan) override;
  void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) override;
  void repeats(const StepPlan& plan, Repeats& out) const override;
  void repeat(const StepPlan& plan, std::int64_t steps) override;

  std::int64_t waiting() const override {
    return static_cast<std::int64_t>(deferred_.size() + refused_.size());
  }
  std::int64_t running() const override;
  KvUsage kv_usage() const override;
  void check_kv() const override;

  // For tests: the slot that works for a request; -1 = none.
  std::int32_t slot_of(const Sequence& sequence) const;

 private:
  struct Slot {
    Sequence* sequence = nullptr;   // null = idle
    bool fresh = true;              // nothing of the sequence was scheduled yet
    Request contents;               // whose tokens it holds while idle, the first `cached_tokens`
    std::int32_t cached_tokens = 0;
    std::uint64_t last_used = 0;    // counts releases; 0 = never
  };
  // A sequence's part in the batch, as far as no plan has taken it yet.
  struct Part {
    Slot* slot;
    std::int32_t tokens;
    std::int32_t drafts;
  };
  struct Sample {
    Sequence* sequence;
    std::int32_t accepted;
  };

  void assign_slots();
  Slot* choose_slot(const Request& request, std::int32_t prompt_tokens);
  std::int32_t common_prefix(const Slot& slot, const Request& request,
                             std::int32_t prompt_tokens) const;
  void form_batch();
  void take_piece(StepPlan& plan);
  void schedule(Slot& slot, std::int32_t tokens, std::int32_t drafts, StepPlan& plan);
  void sample(StepUpdate& update);
  void release(Slot& slot);
  void finish(Sequence& sequence, FinishReason reason);
  Slot* find_slot(const Sequence& sequence);
  // Sampled, but its batch has not ended yet.
  std::int32_t unsent(const Sequence& sequence) const;
  std::int32_t context() const { return context_; }
  std::int64_t blocks_of(std::int64_t tokens) const { return layout_.ring(tokens, piece_tokens_); }
  std::int32_t longest() const;  // prompt and answer
  std::int32_t output_goal(const Sequence& sequence) const;

  std::int32_t block_size_;
  std::int64_t num_blocks_;
  KvLayout layout_;
  std::int64_t slot_blocks_;
  std::int32_t context_ = 0;    // tokens a slot
  std::int32_t max_model_len_;
  std::int32_t batch_tokens_;   // n_batch
  std::int32_t piece_tokens_;   // n_ubatch
  bool reuse_;
  bool speculates_;

  std::vector<Slot> slots_;
  std::deque<Sequence*> deferred_;
  std::vector<Rejection> refused_;  // at the door; reported by the next plan
  std::deque<Part> batch_;          // what is left of it
  std::vector<Sample> sampled_;     // by the pieces so far, in batch order
  std::uint64_t releases_ = 0;
  std::uint64_t prefix_queries_ = 0, prefix_hits_ = 0;
};

}  // namespace headway
