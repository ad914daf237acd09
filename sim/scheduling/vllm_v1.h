#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kv/paged_kv.h"
#include "sim/scheduling/decode_set.h"
#include "sim/scheduling/scheduler.h"
#include "sim/scheduling/sequence_group.h"
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
// Several samples or beams of one prompt (sequence_group.h) are vLLM V0's and the paper's way of
// doing it, on V1's schedule: V1 itself runs n samples as n requests that only its prefix cache can
// join (EngineOptions::share_prompt_blocks = false). The rules, in vllm_v1_groups.cpp:
//  - a group enters when there is a seat for each member; until it forks, only the leader runs;
//  - samples, once forked, are sequences like any other: preempted and recomputed one by one;
//  - beams go in step. They are scheduled all or none and never ahead of a result, since the choice
//    of the next ones needs every candidate; they are preempted together (the paper's gang, 4.5)
//    and come back as they began: the leader computes its tokens again and the others are forked
//    from it, which forgets by how much their answers had differed;
//  - which beams go on is drawn, not searched: after every step each beam is, with probability
//    beam_switch_probability, given up for a fork of one that stays, drawn uniformly. The draw
//    depends on (seed, request, position, beam) alone.
//
// Decoding sequences may be gathered (vllm_v1_gathered.cpp, SchedulerConfig::gather_decodes): what a
// plan does for them is the same, found without walking them.
//
// Layers that keep a window or a state have block tables of their own (kv/group_tables.h). Then
// decodes are not gathered, and the samples of a prompt must not come as a group.
//
// KV from another replica (vllm_v1_received.cpp) comes as through vLLM's KV connectors: blocks for
// the prompt first, the transfer, then one decode. Whoever has its KV goes ahead of the queue, which
// in vLLM it can be stuck behind: those ahead may want the very blocks that it holds.
//
// Where vLLM refuses to start or would wait for ever (a sequence larger than the whole cache or,
// without chunked prefill, than a step), the sequence is rejected with the reason (INV-6).
class VllmV1 : public Scheduler {
 public:
  explicit VllmV1(const SchedulerConfig& config);

  void add(Sequence& sequence) override;
  void abort(Sequence& sequence) override;
  Expected expect(Sequence& sequence) override;
  void receive(Sequence& sequence) override;
  void release(Sequence& sequence) override;
  void plan(SimTime now, StepPlan& plan) override;
  void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) override;

  void repeats(const StepPlan& plan, Repeats& out) const override;
  void repeat(const StepPlan& plan, std::int64_t steps) override;
  std::int64_t quiet_steps() const override;
  void write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const override;
  void settle() override;

  std::int64_t waiting() const override {
    return static_cast<std::int64_t>(waiting_.size() + refused_.size() + received_.size()) +
           followers_ + expected_;
  }
  std::int64_t running() const override { return static_cast<std::int64_t>(running_.size()); }
  KvUsage kv_usage() const override { return kv_.usage(); }
  const PagedKv* paged_kv() const override { return kv_.groups() ? nullptr : &kv_; }
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
  bool preempt_victim(Sequence& victim, const Sequence& needy, std::size_t& index, StepPlan& plan);
  void preempt(Sequence& sequence, StepPlan& plan);
  void lose_kv(Sequence& sequence, StepPlan& plan);
  bool unschedule(const Sequence& sequence, StepPlan& plan);
  void schedule_running(Sequence& sequence, std::int32_t num_tokens, StepPlan& plan);

  void plan_received(StepPlan& plan);
  void plan_waiting(StepPlan& plan);
  bool admit(Sequence& sequence, StepPlan& plan);
  void book_progress(StepPlan& plan);

  // After a step (vllm_v1_update.cpp).
  bool samples_anew(const Sequence& sequence) const;
  bool nobody_will_join(const StepPlan& plan) const;
  void plan_gathered(StepPlan& plan);
  void hash_known(std::int64_t tick);
  void gather(StepPlan& plan);
  void scatter(Sequence& sequence);
  void scatter_all(StepPlan& plan);
  void repeats_one_by_one(const StepPlan& plan, Repeats& out) const;
  void repeat_one_by_one(std::int64_t steps);
  std::int64_t steps_before_end(const Sequence& sequence) const;
  std::int32_t longest_answer(const Sequence& sequence) const;
  void complete_gathered(StepUpdate& update);
  void complete_entry(const ScheduledSequence& entry, std::int32_t accepted, StepUpdate& update);
  void end_answer(Sequence& sequence, StepUpdate& update);
  void take_tokens(Sequence& sequence, std::int32_t sampled, StepUpdate& update);

  void leave_queue(Sequence& sequence);
  bool leave_received(Sequence& sequence);
  void finish(Sequence& sequence, FinishReason reason);
  void reject(Sequence& sequence, const std::string& reason, StepPlan& plan);
  std::string why_never(const Sequence& sequence) const;  // "" = it can run
  bool can_never_hold(std::int32_t tokens) const;
  bool never_fits(std::int32_t computed, std::int32_t end) const;
  bool whole_prompt_fits(const Sequence& sequence, const PrefixHit& hit) const;
  std::string too_large(std::int32_t tokens) const;

  // Groups (vllm_v1_groups.cpp).
  static std::int32_t followers_of(const Sequence& sequence);  // that stand behind it, unforked
  bool seats_free(const Sequence& sequence) const;
  std::string why_never(const SequenceGroup& group) const;
  void fork_group(ScheduledSequence& entry, StepPlan& plan);
  std::int32_t beams_held_back(const Sequence& sequence) const;
  bool preempt_gang(const Sequence& victim, const Sequence& needy, std::size_t& index,
                    StepPlan& plan);
  void sample_followers(const ScheduledSequence& entry, StepUpdate& update);
  void after_tokens(const ScheduledSequence& entry, StepUpdate& update);
  void choose_beams(SequenceGroup& group, StepUpdate& update);
  void finish_followers(Sequence& leader, FinishReason reason);
  void abort_group(SequenceGroup& group);

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
  double beam_switch_probability_;
  std::uint64_t seed_;
  bool prefix_caching_;

  PagedKv kv_;
  WaitingQueue waiting_;
  std::vector<Sequence*> running_;  // in order of admission; the gathered ones stand first
  DecodeSet decodes_;               // the gathered ones
  bool keeps_step_;  // plans and results alternate one for one: a decode batch may repeat
  bool gathers_;
  std::vector<Sequence*> received_;  // have their KV, want a seat
  std::int64_t expected_ = 0;        // sequences whose KV is on its way
  std::vector<Rejection> refused_;  // at the door; reported by the next plan
  std::int32_t budget_ = 0;         // tokens left in the step being planned
  bool groups_seen_ = false;        // else nothing here ever forks
  bool outgrows_seen_ = false;      // else nothing here ever grows larger than the whole cache
  std::int64_t followers_ = 0;      // members whose group has yet to fork
  std::int64_t seats_kept_ = 0;     // for those of them whose leader runs
  std::vector<Sequence*> staying_;  // beams that go on; a buffer
  mutable std::vector<std::uint32_t> slots_;  // buffer of repeats_one_by_one()
  bool left_running_ = false;       // complete() finished someone: running_ must be compacted
};

}  // namespace headway
