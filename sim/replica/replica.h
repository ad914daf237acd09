#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/cost/cost_model.h"
#include "sim/metrics/observer.h"
#include "sim/replica/active_sequence.h"
#include "sim/replica/decode_run.h"
#include "sim/replica/handover.h"
#include "sim/replica/host_times.h"
#include "sim/replica/longest_gap.h"
#include "sim/replica/replica_step.h"
#include "sim/replica/request_group.h"
#include "sim/replica/speculation.h"
#include "sim/scheduling/scheduler.h"
#include "sim/workload/request.h"

namespace headway {

struct ReplicaConfig {
  std::uint32_t id = 0;
  std::int32_t max_model_len = 0;          // prompt + output above it is refused, as vLLM's server does
  std::int32_t batches_in_flight = 1;      // plans outstanding at once: 2 async, pipeline size with PP
  std::int32_t pipeline_parallel_size = 1;
  double slowest_stage = 0;                // its share of a step: a batch begins no sooner after
                                           // the one before; 0 = stages are equal
  bool scheduler_assumes_drafts = false;   // async scheduling: k drafts are taken for granted
  HostTimes host;
  double swap_us_per_block = 0;            // one KV block over the host link
  double copy_us_per_block = 0;            // one KV block within the GPU's memory
  bool shares_samples = false;             // the scheduler forks a request's samples and beams
  bool skip_ahead = false;                 // runs of decode steps at once (the caller must catch_up())
  bool seldom_seen = false;                // with skip_ahead: only who leaves it matters to others, so
                                           // that it need not be looked at for every step (look_at())
  // For facts alone (what holds the line back where the scheduler does not say): its limits of a step.
  std::int32_t max_num_seqs = 0, max_num_batched_tokens = 0;
  bool in_step = false;                    // a rank of a group: its steps begin when the caller says
  std::uint64_t first_step = 0;            // what its steps are counted from: those of its forerunner
};

// A request that left a replica, for whoever sent it.
struct Departure {
  std::uint64_t request = 0;
  std::int64_t session = -1;
  std::int32_t prompt_tokens = 0;
};

// One engine: queues and KV (inside its scheduler), a cost model, steps in flight. The scheduler
// decides, the replica acts: it prices the plan, lets the time pass, hands the result back and
// announces what happened. It knows no event queue; the caller turns the instants it returns into
// events and calls back at exactly those instants.
class Replica {
 public:
  Replica(const ReplicaConfig& config, std::unique_ptr<Scheduler> scheduler,
          std::shared_ptr<const CostModel> cost, std::span<Observer* const> observers,
          std::unique_ptr<Speculation> speculation = nullptr,
          std::shared_ptr<RunRoom> room = nullptr);

  // The request reaches the scheduler's queue now (host time before that has passed). `lost`: of the
  // time since its arrival, with replicas that failed.
  void submit(Request&& request, SimTime now, SimTime lost = {});

  // Between replicas (replica_handover.cpp). With skip_ahead, catch_up() is REQUIRED before each.
  //
  // The request's prompt is computed here and ends with its first token, to go on elsewhere. Then it
  // is among take_handovers(), and holds its KV until release_kv(), which names it by its slot.
  void submit_prompt(Request&& request, SimTime now, SimTime lost = {});
  void take_handovers(std::vector<Handover>& out) {
    out.clear();
    if (!handovers_.empty()) out.swap(handovers_);
  }
  void release_kv(std::uint32_t slot);
  // A request that began elsewhere asks for room. Where it gets some, the handover is taken; its KV
  // may come, and receive() says that it has. One that can never have any leaves, refused.
  struct Admission {
    enum class Verdict : std::uint8_t { kTaken, kNoRoom, kRefused } verdict;
    std::uint32_t slot = 0;          // for receive()
    std::int32_t cached_tokens = 0;  // that need not be sent
  };
  Admission expect(Handover& begun, SimTime now);
  void receive(std::uint32_t slot, SimTime now);
  // Whether a request that found no room should ask again: since the last call some left, or were
  // admitted.
  bool take_room_changed() { return std::exchange(room_changed_, false); }

  // Plans as many steps as may be in flight. The instant to look again if nothing else happens (the
  // scheduler waits for one); never = none. REQUIRES: may_plan().
  SimTime start_steps(SimTime now);
  // When end_step() is due next; never = nothing is in flight. Moves when steps start, when one ends
  // and with catch_up().
  SimTime next_step_end() const {
    if (run_.active) return run_.due;
    return in_flight_.empty() ? SimTime::never() : in_flight_.front()->end;
  }
  // True when a plan may be made: nothing in flight, or a step has just ended.
  bool may_plan() const { return may_plan_; }

  // Skipping ahead, the replica may be in the middle of steps that nobody has looked at: brings it to
  // where it is now, with all that ended up to and including this instant, and all that was planned
  // before it. REQUIRED before submit() with skip_ahead.
  void catch_up(SimTime now);
  // Looking rarely (replica_ahead.cpp). By when somebody has to advance() it: nobody leaves before. With
  // seldom_seen that may be many steps away, else it is next_step_end(). Moves with every call here.
  // REQUIRES: all that may be planned now has been.
  SimTime look_at();
  // The same as catch_up(), but for a run of steps that goes on: it is not cut off. REQUIRES:
  // departures have been taken.
  void advance(SimTime now) { advance(now, true); }
  // The oldest step in flight ends now (with skip_ahead, and those of the run before it).
  void end_step(SimTime now);

  // Requests that left since the last call (finished, rejected).
  void take_departures(std::vector<Departure>& out) {
    out.clear();
    if (!departures_.empty()) out.swap(departures_);
  }

  // It is gone with all that is in it: the requests that had not left, in the order they came, to be
  // sent again or given up by the caller; nothing is announced of them, nor of the steps in flight.
  // REQUIRES: caught up with. Only its counts may be asked for afterwards.
  std::vector<Request> abandon();
  // Time up to now in which steps were in flight. REQUIRES: caught up with.
  SimTime busy(SimTime now) const;

  // A rank that steps together with others (in_step): start_steps() only plans, and the oldest plan
  // waits until the caller has priced it beside the other ranks' and begins it.
  bool has_planned() const { return !in_flight_.empty(); }
  // What that plan asks of the GPU; the same without its prefill chunks. REQUIRES: has_planned().
  void planned_shape(StepShape& shape) const;
  void planned_decodes(StepShape& shape) const;
  // Its price beside the others', and what it would be if no rank had prefilled (of the slowest; more
  // than the price = none does). Adds what is its own (drafting, swapping). The time that it takes
  // alone, the host's included.
  SimTime price_planned(const StepCost& cost, double decode_only_us);
  // It runs from now to `end`, which is no sooner than its own price: the rest is waiting for others.
  void begin_planned(SimTime now, SimTime end);

  bool idle() const { return in_flight_.empty(); }
  std::int64_t outstanding() const { return submitted_ - departed_; }
  std::uint64_t steps() const { return steps_ - config_.first_step; }
  std::uint64_t steps_skipped() const { return skipped_; }  // of them, settled in runs
  std::uint64_t timeline() const;                          // a hash of all step ends
  std::int64_t preemptions() const { return preemptions_; }
  const Scheduler& scheduler() const { return *scheduler_; }
  const Speculation* speculation() const { return speculation_.get(); }  // null = off
  const SharingStats& sharing() const { return sharing_; }

  // INV-1, INV-2; walks everything. For tests and for the end of a run.
  void check_drained() const;

 private:
  ActiveSequence& active(const Sequence& sequence) { return *slots_[sequence.slot]; }
  std::uint32_t take_slot();
  ActiveSequence* take_in(Request&& request, SimTime now, SimTime lost);
  void hand_over(ActiveSequence& a, SimTime now);
  bool too_long(const Sequence& sequence) const;
  std::string too_long_text(const Sequence& sequence) const;
  void submit_group(ActiveSequence& leader);
  template <typename Act>
  void on_followers(const ScheduledSequence& entry, Act act);
  void admit_plan(ReplicaStep& step, SimTime now);
  void price(ReplicaStep& step);
  void add_own_work(ReplicaStep& step);
  void time_step(ReplicaStep& step, SimTime now);
  void advance_ledger(const ReplicaStep& step, SimTime now);
  void credit_prefill(const ReplicaStep& step, SimTime now);
  void verify_drafts(const ReplicaStep& step);
  void propose_drafts(const ReplicaStep& step);
  std::unique_ptr<ReplicaStep> take_ended();
  void complete(const ReplicaStep& step);
  void depart_finished(SimTime now);
  void note_gathered(const StepPlan& plan);
  void note_scattered(ActiveSequence& a);
  void emit_tokens(const StepUpdate& update, SimTime now);
  void depart(ActiveSequence& a, SimTime now, bool failed, std::string reason);
  void check_conservation() const;

  // For observers that hear facts (replica_facts.cpp).
  bool tells_facts() const { return !fact_observers_.empty(); }
  void tell_queued(const Request& request, SimTime now, SimTime lost);
  void tell_left(const Request& request, SimTime now);
  void tell_received(const Request& request, SimTime now);
  void tell_plan(const ReplicaStep& step, SimTime now);
  void tell_step(const ReplicaStep& step, const StepRecord& record);
  void tell_first_token(const ActiveSequence& a, SimTime now);

  // Runs of decode steps (replica_run.cpp).
  bool steps_alike() const;
  void advance(SimTime until, bool goes_on);
  bool lays_out(SimTime until, bool goes_on);
  SimTime no_sooner_than(std::int64_t completions) const;
  void begin_run();
  void begin_run(std::int64_t horizon);
  bool note_given_back();
  void end_step_of_run(SimTime now);
  void end_run(std::int64_t steps);
  void settle_run(const RunPart& ended, std::int64_t repeated);
  void tell_run(ReplicaStep& front, const RunPart& ended);
  void emit_run(const StepPlan& plan, const RunPart& ended);
  void move_in_flight(const RunPart& ended, std::int64_t steps);

  ReplicaConfig config_;
  std::unique_ptr<Scheduler> scheduler_;
  std::shared_ptr<const CostModel> cost_;
  std::vector<Observer*> observers_, step_observers_;  // the latter hear of every step
  bool reads_runs_ = false;  // some of those want the steps of a run laid out
  std::vector<Observer*> fact_observers_;              // and these of everybody's part in it
  struct ToldFacts;                                    // buffers
  std::shared_ptr<ToldFacts> told_;                    // null = nobody hears facts
  std::unique_ptr<Speculation> speculation_;

  std::vector<std::unique_ptr<ActiveSequence>> slots_;
  struct LeavingSlot {
    std::uint32_t slot;
    std::uint64_t after_steps;  // free once that many steps have ended
  };
  std::vector<std::uint32_t> free_slots_;
  std::deque<LeavingSlot> leaving_slots_;  // in order of after_steps
  std::vector<std::unique_ptr<ReplicaStep>> in_flight_;  // a few, the oldest first
  std::vector<std::unique_ptr<ReplicaStep>> spare_steps_;
  std::vector<Departure> departures_;
  std::vector<Handover> handovers_;
  std::int64_t coming_ = 0;     // requests whose KV is on its way here
  std::int64_t keeping_ = 0;    // that have been handed over, their KV still here
  bool room_changed_ = true;
  StepShape shape_, draft_shape_;
  StepResult result_;
  StepUpdate update_;
  SharingStats sharing_;
  std::int64_t groups_ = 0;     // requests with several sequences that are in here
  DecodeRun run_;
  std::shared_ptr<RunRoom> room_;
  std::shared_ptr<const RunPrices> prices_;
  std::vector<SimTime> ends_;   // of the steps in flight, where a run begins
  LongestGap longest_gap_;      // between step ends, for the tokens of gathered decodes

  TimeLedger ledger_;
  SimTime idle_;            // of the ledger's time
  SimTime ledger_at_;       // the ledger has accounted for time up to here
  SimTime last_start_;
  SimTime last_stage_;      // how long the last step keeps the first pipeline stage
  SimTime last_step_end_;
  SimTime last_gathered_end_;  // of the last step with gathered decodes or for those now gathered
  bool may_plan_ = true;
  bool added_ = false;         // something came since the newest plan
  bool seldom_seen_;           // and not by those who hear facts either
  SimTime least_step_;
  std::int64_t submitted_ = 0, departed_ = 0, preemptions_ = 0;  // requests, sequences
  std::int64_t sequences_ = 0;  // in the scheduler
  std::uint64_t steps_ = 0, skipped_ = 0, order_ = 0;
  // Over all step ends, in ns, modulo 2^64: the sum, and that of i times the i-th from 1. Both are cheap,
  // and the same in any grouping.
  std::uint64_t ends_sum_ = 0, ends_by_step_ = 0;
};

// Calls act(follower) for those whose leader's part in a step is theirs as well: all until the group
// forks, and in the step that it forks from.
template <typename Act>
void Replica::on_followers(const ScheduledSequence& entry, Act act) {
  const SequenceGroup* group = entry.sequence->group;
  if (group == nullptr || entry.sequence->sample != 0) return;
  for (const Sequence* s : group->members) {
    if (s->sample == 0 || s->state == SequenceState::kPreempted) continue;
    if (entry.forks || s->output_tokens == 0) act(active(*s));
  }
}

}  // namespace headway
