#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kv/kv_store.h"
#include "sim/scheduling/decode_set.h"
#include "sim/scheduling/scheduler.h"
#include "sim/scheduling/waiting_line.h"

namespace headway {

// What the engines without prefix sharing have in common: a waiting line, a list of running
// sequences, KV of which only amounts matter, recompute preemption, one token a sampled sequence.
// A policy derives from it and writes decide(); the steps it is made of are below.
//
// A sequence runs from its admission until it ends or is preempted. It is prefilling until the
// tokens known at its admission (prompt, and answers before a preemption) are computed.
//
// Sequences that come with the KV of their prompt join the running list as soon as there is a seat,
// and decode (batch_scheduler_received.cpp).
//
// With one step in flight, decoding sequences are gathered (decode_set.h, SchedulerConfig::
// gather_decodes; batch_scheduler_gathered.cpp). They stand first in running_, and a decide() lets
// plan_gathered() schedule them before it visits the others.
class BatchScheduler : public Scheduler {
 public:
  void add(Sequence& sequence) final;
  void abort(Sequence& sequence) final;
  Expected expect(Sequence& sequence) final;
  void receive(Sequence& sequence) final;
  void release(Sequence& sequence) final;
  void plan(SimTime now, StepPlan& plan) final;
  void complete(const StepPlan& plan, const StepResult& result, StepUpdate& update) final;

  // Holds for a decide() that decodes all that runs and then admits the head of the line by seats,
  // budget and can_admit(); a policy of another kind overrides it.
  void repeats(const StepPlan& plan, Repeats& out) const override;
  void repeat(const StepPlan& plan, std::int64_t steps) final;
  void write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const final;
  void settle() final;

  std::int64_t waiting() const final { return waiting_count_; }
  std::int64_t running() const final { return static_cast<std::int64_t>(running_.size()); }
  KvUsage kv_usage() const final { return kv_->usage(); }
  void check_kv() const final;

  // For replays and tests: the queues in their order, and the KV.
  const std::vector<Sequence*>& running_sequences() const { return running_; }
  virtual std::vector<const Sequence*> waiting_sequences() const;
  const KvStore& kv() const { return *kv_; }

 protected:
  BatchScheduler(const SchedulerConfig& config, std::unique_ptr<KvStore> kv);

  // Decides one step: preempts, admits and schedules by means of the calls below.
  virtual void decide(SimTime now, StepPlan& plan) = 0;

  // The waiting line; a policy with a line of its own overrides all of them together.
  // rank: smaller first, ties by arrival; REQUIRES: constant while the sequence waits.
  virtual std::int64_t rank(const Sequence&) const { return 0; }
  virtual void enqueue(Sequence& sequence) { line_.push(sequence, rank(sequence)); }
  virtual void dequeue(Sequence& sequence) { line_.erase(sequence, rank(sequence)); }
  virtual Sequence* head(SimTime /*now*/) { return line_.front(); }

  // Hooks.
  virtual void on_preempted(Sequence&) {}
  virtual void on_emitted(Sequence&, std::int32_t /*tokens*/) {}
  virtual void on_idle() {}  // complete() has just emptied the running list
  // Instead of on_emitted() for the gathered: so many steps have given each of them a token.
  virtual void on_steps_together(std::int64_t /*steps*/) {}
  virtual void on_gathered(Sequence&) {}  // part of them from the next step on
  virtual void on_scattered(Sequence&) {}
  // Frees the KV of a sequence that ended by itself.
  virtual void release_finished(Sequence& sequence) { kv_->release(sequence.slot); }
  // Output at which the sequence ends: its own, or what max_model_len leaves room for. Stays what it
  // is while the sequence runs.
  virtual std::int32_t output_goal(const Sequence& sequence) const;
  // KV blocks left free by an admission.
  std::int64_t spare_blocks() const { return spare_blocks_; }
  // Whether a decode needs a free block even where its last one has room (vLLM before V1).
  virtual bool decode_needs_free_block() const { return false; }

  // Whether the head of the line may become another one while nobody joins it or leaves it.
  virtual bool head_changes() const { return false; }
  // Whether anybody is admitted while a batch runs.
  virtual bool admits_to_running() const { return true; }

  // Whether decodes stand in a step in order of arrival, whenever they began; else in that of
  // running_, behind prompts.
  virtual bool decodes_by_arrival() const { return false; }
  // Whether those that the plan lets sample decode in the very next step, and so may be gathered.
  virtual bool decode_next(const StepPlan&) const { return true; }

  // Schedules a token each for the gathered, if the budget and the KV are enough for them and for
  // `others` decodes besides, in any order; else they scatter. How many are gathered then.
  std::size_t plan_gathered(std::int64_t token_budget, std::int64_t others, StepPlan& plan);
  std::size_t gathered() const { return static_cast<std::size_t>(decodes_.size()); }

  // The next sequence to admit; those before it that can never run are rejected. nullptr: none.
  Sequence* next_waiting(SimTime now, StepPlan& plan);
  // The same while a seat is free; nullptr where the head waits for one, which the plan says.
  Sequence* next_in_seats(SimTime now, StepPlan& plan);
  // Takes a waiting sequence out of the line for good.
  void reject(Sequence& sequence, std::string reason, StepPlan& plan);
  // Room in the KV for admitting it now.
  bool can_admit(const Sequence& sequence) const;
  // From the line to the running list, with its KV; schedules its first `tokens` prompt tokens.
  void admit(Sequence& sequence, std::int32_t tokens, StepPlan& plan);
  void schedule_chunk(Sequence& sequence, std::int32_t tokens, ScheduledKind kind, StepPlan& plan);
  // Schedules the next token of a sequence past its prefill, if the KV has room.
  bool try_decode(Sequence& sequence, StepPlan& plan);
  // Takes its KV away (to be recomputed) and puts it back in line. The caller takes it off
  // running_.
  void preempt(Sequence& sequence, StepPlan& plan);

  bool prefilling(const Sequence& sequence) const {
    return sequence.computed_tokens < side_[sequence.slot].prefill_target;
  }
  std::int32_t prefill_left(const Sequence& sequence) const {
    return side_[sequence.slot].prefill_target - sequence.computed_tokens;
  }
  bool in_flight(const Sequence& sequence) const { return side_[sequence.slot].in_flight; }
  // Decode order within a batch: prompts in front, as attention kernels of the time expected it.
  static void prompts_first(StepPlan& plan);

  const EngineOptions engine_;
  std::unique_ptr<KvStore> kv_;
  std::vector<Sequence*> running_;

 private:
  struct Side {
    std::int32_t prefill_target = 0;
    std::int32_t output_goal = 0;  // since its last admission
    bool in_flight = false;
    bool told = false;  // of on_gathered() and on_scattered(), the former came last
  };
  AdmissionDemand demand(const Sequence& sequence) const;
  std::string why_never(const Sequence& sequence) const;  // "" = it can run
  void schedule(Sequence& sequence, std::int32_t tokens, ScheduledKind kind, bool prefill,
                StepPlan& plan);
  void finish(Sequence& sequence, FinishReason reason);
  bool complete_entries(std::span<const ScheduledSequence> entries, StepUpdate& update);
  void end_answer(Sequence& sequence, StepUpdate& update);

  // KV from and for other replicas (batch_scheduler_received.cpp).
  void join_received();
  bool leave_received(Sequence& sequence);

  // Decodes planned together (batch_scheduler_gathered.cpp).
  void gather(StepPlan& plan);
  bool may_gather(const Sequence& sequence) const;
  void scatter(Sequence& sequence);
  void complete_gathered(StepUpdate& update);
  void repeats_of_gathered(Repeats& out) const;
  void repeats_of_layers(const StepPlan& plan, Repeats& out) const;
  void limit_by_kv(Repeats& out, std::int64_t batch) const;
  bool may_repeat(const StepPlan& plan) const;

  std::int64_t spare_blocks_;
  std::int64_t waiting_count_ = 0;  // those received or expected included
  std::vector<Sequence*> received_;  // have their KV, want a seat
  std::int64_t expected_ = 0;        // sequences whose KV is on its way
  std::int64_t kept_ = 0;            // ended, their KV has yet to be released
  WaitingLine line_;
  std::vector<Side> side_;  // by slot
  DecodeSet decodes_{false};
  bool gathers_;
};

// The KV that engine.kv_allocator names ("" = `own`, the policy's default).
// InputError for a name that is none.
std::unique_ptr<KvStore> make_kv_store(const SchedulerConfig& config, std::string_view own);
// InputError when engine.kv_allocator asks for another memory than the paged one.
void require_paged_kv(const EngineOptions& engine);
// The paged pool, for a policy that knows no other. InputError when another one is asked for.
std::unique_ptr<KvStore> make_paged_kv(const SchedulerConfig& config);

}  // namespace headway
