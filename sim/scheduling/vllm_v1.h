#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kv/paged_kv.h"
#include "sim/scheduling/scheduler.h"
#include "sim/scheduling/waiting_queue.h"

namespace headway {

// The scheduler of vLLM V1 (v0.16.0, commit 2d5be1dd5ce2: vllm/v1/core/sched/scheduler.py and
// async_scheduler.py), with `scheduler_reserve_full_isl` of main at 9aaf83ef502f as an option.
//
// There are no phases of prefill and decode: a step gives every running sequence what it lacks to
// its known tokens, in order of admission and within the token budget, and then admits waiting
// ones. A sequence that finds no free block preempts the last running one (or the least urgent),
// which gives up all its blocks and recomputes later; a step that preempted admits nobody.
//
// Asynchronous scheduling and pipeline parallelism need nothing but several outstanding plans
// (SchedulerConfig::batches_in_flight): progress is booked when a plan is made, so a sequence in
// flight has nothing left to compute. Under asynchronous scheduling the tokens that a step will
// sample are counted as placeholders, and the scheduler assumes num_speculative_tokens drafts by
// itself; otherwise the replica sets Sequence::draft_tokens after complete() (for a sequence that
// takes_drafts()).
//
// Where vLLM refuses to start or would wait for ever (a sequence larger than the whole cache or,
// without chunked prefill, than a step), the sequence is rejected with the reason (INV-6).
class VllmV1 : public Scheduler {
 public:
  explicit VllmV1(const SchedulerConfig& config);

  void add(Sequence& sequence) override;
  void abort(Sequence& sequence) override;
  void plan(SimTime now, StepPlan& plan) override;
  void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) override;

  std::int64_t waiting() const override {
    return static_cast<std::int64_t>(waiting_.size() + refused_.size());
  }
  std::int64_t running() const override { return static_cast<std::int64_t>(running_.size()); }
  KvUsage kv_usage() const override { return kv_.usage(); }
  void check_kv() const override { kv_.check(); }

  // For the conformance replay: the queues in order, the block tables.
  const std::vector<Sequence*>& running_list() const { return running_; }
  std::vector<const Sequence*> waiting_list() const { return waiting_.list(); }
  const PagedKv& kv() const { return kv_; }

 private:
  enum class Grant : std::uint8_t { kGiven, kPreemptedItself, kRejected };

  void plan_running(StepPlan& plan);
  std::int32_t tokens_wanted(const Sequence& sequence) const;
  Grant grant_blocks(Sequence& sequence, std::int32_t num_tokens, std::size_t& index,
                     StepPlan& plan);
  Sequence* pop_victim(std::size_t& index, StepPlan& plan);
  void preempt(Sequence& sequence, StepPlan& plan);
  void schedule_running(Sequence& sequence, std::int32_t num_tokens, StepPlan& plan);

  void plan_waiting(StepPlan& plan);
  bool admit(Sequence& sequence, StepPlan& plan);
  void book_progress(StepPlan& plan);

  void take_tokens(Sequence& sequence, std::int32_t sampled, StepUpdate& update);
  void finish(Sequence& sequence, FinishReason reason);
  void reject(Sequence& sequence, std::string reason, StepPlan& plan);
  bool can_never_hold(std::int32_t tokens) const;
  std::string too_large(std::int32_t tokens) const;

  // Settings.
  std::int32_t max_num_seqs_;
  std::int32_t max_step_tokens_;
  std::int32_t max_model_len_;
  std::int32_t long_prefill_threshold_;
  std::int32_t num_speculative_tokens_;
  std::int32_t num_lookahead_tokens_;
  bool chunked_prefill_;
  bool by_priority_;
  bool async_;
  bool reserve_full_isl_;

  PagedKv kv_;
  WaitingQueue waiting_;
  std::vector<Sequence*> running_;  // in order of admission
  std::vector<Rejection> refused_;  // at the door; reported by the next plan
  std::int32_t budget_ = 0;         // tokens left in the step being planned
  bool left_running_ = false;       // complete() finished someone: running_ must be compacted
};

}  // namespace headway
