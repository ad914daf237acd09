#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "sim/kv/token_pool.h"
#include "sim/scheduling/decode_set.h"
#include "sim/scheduling/scheduler.h"
#include "sim/scheduling/sglang_batch.h"
#include "sim/scheduling/sglang_policy.h"
#include "sim/scheduling/sglang_prefill.h"

namespace headway {

// The scheduler of SGLang v0.5.5.post3 (commit 7b2fb3d47: python/sglang/srt/managers/scheduler.py,
// schedule_policy.py, schedule_batch.py), without speculation, priorities and pipeline parallelism.
//
// A step is a prefill batch while anyone can be admitted, else a decode of all that run (with
// enable_mixed_chunk the decodes ride in the prefill batch). One prompt at a time is cut where the
// chunk ends, and goes on first. Admission reserves output (sglang_prefill.h); when the estimate
// was too low and a decode finds no memory, the sequences with the least output are retracted: they
// lose their KV and go to the tail of the queue, and the ratio of output to reserve is set anew.
// `batch_is_full` latches: a refusal stops admission until the running batch is seen to have
// shrunk.
//
// With async_scheduling (SGLang's overlap schedule) a step is planned before the tokens of the last
// one are known: a sequence takes part in one decode after its last, whose token is dropped, and a
// token in flight at a retraction is made again.
//
// Settings: max_num_seqs (max_running_requests), chunked_prefill_size (-1, or
// enable_chunked_prefill off: prompts are not cut), max_prefill_tokens, enable_mixed_chunk,
// schedule_conservativeness, page_size, policy, enable_prefix_caching (off: disable_radix_cache).
// The pool has num_blocks * block_size tokens. max_num_batched_tokens binds nothing here.
//
// KV from another replica (sglang_received.cpp) is taken in as SGLang's decode servers do it
// (disaggregation/decode.py): room for the prompt first, with some in reserve for every sequence
// that decodes; then the transfer, then a seat in the running batch.
//
// Without mixed chunks decoding sequences are gathered (sglang_gathered.cpp, decode_set.h,
// SchedulerConfig::gather_decodes): they have the first seats of the running batch.
//
// Where the engine breaks, the simulation goes on:
//  - A mixed step whose decodes find no memory ends the engine; here sequences are retracted (all,
//    if need be), as in a plain decode.
//  - A chunk that finds no room (ends the engine too) waits while the others decode; if the last of
//    these finds no room itself, the cut prompt gives its KV up and queues anew.
//  - The engine shortens an answer to what the pool holds, prompt + output <= pool - 2; here that
//    bounds what is reserved, and a sequence that needs more than the pool is rejected (INV-6).
class Sglang : public Scheduler {
 public:
  explicit Sglang(const SchedulerConfig& config);

  void add(Sequence& sequence) override;
  void abort(Sequence& sequence) override;
  Expected expect(Sequence& sequence) override;
  void receive(Sequence& sequence) override;
  void release(Sequence& sequence) override;
  void plan(SimTime now, StepPlan& plan) override;
  void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) override;
  void repeats(const StepPlan& plan, Repeats& out) const override;
  void repeat(const StepPlan& plan, std::int64_t steps) override;
  void write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const override;
  void settle() override;

  std::int64_t waiting() const override {
    return static_cast<std::int64_t>(waiting_.size() + refused_.size() + received_.size()) +
           expected_;
  }
  std::int64_t running() const override { return running_count_; }
  KvUsage kv_usage() const override;
  void check_kv() const override { pool_.check(); }

  // One turn of the engine's loop; plan() takes further ones at once where a turn did no more than
  // notice that a batch has shrunk. For the replay, which counts them.
  void turn(StepPlan& plan);

  // For the replay.
  const SglangBatch& running_batch() const { return running_; }
  const std::deque<Sequence*>& waiting_queue() const { return waiting_; }
  const Sequence* cut_sequence() const { return cut_; }
  double new_token_ratio() const { return ratio_; }
  const TokenPool& pool() const { return pool_; }

 private:
  void merge_last();
  bool plan_prefill(StepPlan& plan);
  bool pick_waiting(SglangPrefill& round);
  void start(const SglangPrefill::Pick& pick, StepPlan& plan);
  void mix_in_decodes(StepPlan& plan);
  void plan_decode(StepPlan& plan);
  void schedule_decodes(const SglangBatch& batch, StepPlan& plan);

  bool decodes_fit(const std::vector<SglangBatch::Member>& members);
  void retract(SglangBatch& batch, std::size_t keep, StepPlan& plan);
  void retract(Sequence& sequence, StepPlan& plan);
  void estimate_ratio();
  void pages_to_blocks(Repeats& out, std::int64_t free_tokens) const;
  void limit_by_pages(Repeats& out, std::int64_t batch) const;
  void complete_entries(std::span<const ScheduledSequence> entries, StepUpdate& update);
  void end_answer(Sequence& sequence, StepUpdate& update);

  // KV from and for other replicas (sglang_received.cpp).
  void open(Sequence& sequence);
  void close(Sequence& sequence);
  void join_received();
  bool leave_received(Sequence& sequence);

  // Decodes planned together (sglang_gathered.cpp).
  void gather(StepPlan& plan);
  void scatter(Sequence& sequence);
  void scatter_all(StepPlan& plan);
  void complete_gathered(StepUpdate& update);

  void finish(Sequence& sequence, FinishReason reason);
  void leave(Sequence& sequence, FinishReason reason);
  std::int32_t longest_output(const Sequence& sequence) const;
  std::string why_never(const Sequence& sequence) const;  // "" = it can run
  SglangBatch::Member member(Sequence& sequence) const;

  // Settings.
  std::int32_t max_running_;
  std::int32_t max_model_len_;
  std::int32_t block_size_;
  bool block_a_sequence_;  // no attention: states fill a block, whatever its tokens
  std::int32_t retract_decode_steps_;
  bool mixed_;
  SglangPrefillLimits limits_;
  double init_ratio_;
  double min_ratio_;
  double ratio_decay_;

  TokenPool pool_;
  SglangPolicy policy_;
  std::deque<Sequence*> waiting_;
  std::deque<Sequence*> received_;  // have their KV, want a seat
  std::int64_t expected_ = 0;       // sequences whose KV is on its way
  std::int64_t kept_ = 0;           // ended, their KV has yet to be released
  std::vector<Rejection> refused_;  // at the door; reported by the next plan
  SglangBatch running_;             // what decodes
  DecodeSet decodes_{true};         // the gathered of them
  bool gathers_;
  SglangBatch last_;                // the last step, if it was a prefill: joins running_ next
  Sequence* cut_ = nullptr;         // admitted, with part of its prompt still to be computed
  double ratio_;                    // new_token_ratio
  HeldBack full_by_ = HeldBack::kSeats;  // what running_.full is due to
  std::vector<std::int32_t> output_budget_;  // by slot: max_new_tokens as the engine knows it
  std::int64_t running_count_ = 0;
  std::int32_t in_flight_ = 0;  // plans not yet completed
  std::vector<std::uint32_t> slots_;  // buffer of repeat()
};

}  // namespace headway
