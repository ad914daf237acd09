// A replica's loop with unit step times around one scheduler, checking the invariants as it goes.
#include <algorithm>
#include <deque>
#include <set>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/core/random.h"
#include "tests/contract/scheduler_case.h"

namespace headway::contract {
namespace {

const SimTime kStep = SimTime::from_ns(1'000'000);

class Run {
 public:
  Run(const SchedulerCase& c, std::uint64_t seed)
      : case_(c),
        scheduler_(make_scheduler(c.config)),
        stream_(seed, "accepted drafts"),
        sequences_(c.requests.size()),
        facts_(c.requests.size()) {
    for (const Request& r : c.requests) {
      steps_left_ += 40 * (r.prompt_tokens + r.output_tokens + 10);
    }
  }

  std::uint64_t run() {
    for (; outstanding(); --steps_left_) {
      SIM_CHECK(steps_left_ > 0, "livelock: " + std::to_string(open_) + " requests never end");
      deliver_clients();
      const std::size_t in_flight = in_flight_.size();
      StepPlan& plan = plan_step();
      const bool acted = !plan.empty() || !plan.rejected.empty() || !plan.preempted.empty();
      const SimTime wake_at = plan.wake_at;
      const bool scheduled = !plan.empty();
      if (!scheduled) in_flight_.pop_back();
      if (scheduled && in_flight + 1 < depth()) continue;
      if (!in_flight_.empty()) {
        now_ += kStep;
        complete_step();
      } else if (!acted) {
        wait_for_something(wake_at);
      }
    }
    check_end();
    return fingerprint_;
  }

 private:
  struct Facts {
    bool arrived = false;
    bool aborted = false;
    bool rejected = false;
    bool finished = false;
    bool scheduled = false;
    std::int32_t emitted = 0;
  };

  std::size_t depth() const { return static_cast<std::size_t>(case_.config.batches_in_flight); }
  bool outstanding() const {
    return next_arrival_ < sequences_.size() || open_ > 0 || !in_flight_.empty();
  }
  Facts& facts(const Sequence* s) { return facts_[static_cast<std::size_t>(s->request->id)]; }

  void deliver_clients() {
    for (; next_arrival_ < sequences_.size(); ++next_arrival_) {
      const Request& r = case_.requests[next_arrival_];
      if (r.arrival > now_) break;
      Sequence& s = sequences_[next_arrival_];
      s.request = &r;
      s.slot = static_cast<std::uint32_t>(next_arrival_);
      s.order = next_arrival_;
      s.arrival = r.arrival;
      s.prompt_tokens = r.prompt_tokens;
      s.max_tokens = r.max_tokens > 0 ? r.max_tokens : r.output_tokens;
      s.output_target = r.output_tokens;
      s.priority = r.priority;
      facts(&s).arrived = true;
      ++open_;
      scheduler_->add(s);
      check_state();
    }
    for (std::size_t i = 0; i < next_arrival_; ++i) {
      if (case_.aborts[i] > now_ || facts_[i].aborted) continue;
      const bool was_open = !sequences_[i].finished();
      scheduler_->abort(sequences_[i]);
      facts_[i].aborted = true;
      if (was_open) {
        SIM_CHECK(sequences_[i].finish_reason == FinishReason::kAborted);
        --open_;
      }
      check_state();
    }
  }

  StepPlan& plan_step() {
    StepPlan& plan = in_flight_.emplace_back();
    scheduler_->plan(now_, plan);
    for (const Rejection& rejection : plan.rejected) {
      Facts& f = facts(rejection.sequence);
      SIM_CHECK(!rejection.reason.empty() && rejection.sequence->finished() && !f.rejected);
      SIM_CHECK(rejection.sequence->finish_reason == FinishReason::kRejected);
      SIM_CHECK(!case_.must_serve_all, "rejected though it fits: " + rejection.reason);
      f.rejected = true;
      --open_;
    }
    check_plan(plan);
    check_state();
    return plan;
  }

  // INV-3 (scheduled only after arrival), INV-4.
  void check_plan(const StepPlan& plan) {
    const EngineOptions& engine = case_.config.engine;
    std::int32_t total = 0;
    std::set<const Sequence*> seen;
    for (const ScheduledSequence& entry : plan.scheduled) {
      const Sequence& s = *entry.sequence;
      SIM_CHECK(facts(&s).arrived && s.state == SequenceState::kRunning);
      SIM_CHECK(seen.insert(&s).second, "scheduled twice in one step");
      SIM_CHECK(entry.num_tokens > 0 && entry.draft_tokens >= 0);
      SIM_CHECK(entry.draft_tokens < entry.num_tokens || entry.draft_tokens == 0);
      const bool stays = !entry.refines || entry.samples;  // the KV of the step
      SIM_CHECK(s.computed_tokens == entry.computed_before + (stays ? entry.num_tokens : 0));
      SIM_CHECK(s.computed_tokens <= engine.max_model_len);
      SIM_CHECK((entry.kind == ScheduledKind::kNew) == !facts(&s).scheduled ||
                entry.kind == ScheduledKind::kResumed);
      facts(&s).scheduled = true;
      total += entry.num_tokens;
      record(s.request->id, static_cast<std::uint64_t>(entry.kind), entry.computed_before,
             entry.num_tokens, entry.draft_tokens, entry.samples, entry.prefill);
    }
    SIM_CHECK(total == plan.total_tokens);
    check_token_budget(plan);
    SIM_CHECK(plan.scheduled.size() <= static_cast<std::size_t>(engine.max_num_seqs));
    for (const Sequence* s : plan.preempted) {
      SIM_CHECK(seen.count(s) == 0, "scheduled and preempted in one step");
      SIM_CHECK(s->state == SequenceState::kPreempted || s->state == SequenceState::kSwapped);
      record(s->request->id, 99);
    }
  }

  // INV-4, as the scheduler's row states it.
  void check_token_budget(const StepPlan& plan) const {
    const std::int32_t budget = case_.config.engine.max_num_batched_tokens;
    if (plan.total_tokens <= budget || rule_ == TokenBudgetRule::kNone) return;
    SIM_CHECK(rule_ == TokenBudgetRule::kButOnePrompt, "over the token budget");
    std::int32_t prompts = 0;
    for (const ScheduledSequence& entry : plan.scheduled) {
      if (entry.prefill) ++prompts;
      SIM_CHECK(!entry.prefill || entry.num_tokens > budget, "a short prompt over the budget");
    }
    SIM_CHECK(prompts == 1, "over the token budget with more than one prompt");
  }

  // INV-1 and INV-2, and that whoever lost its KV holds none.
  void check_state() {
    scheduler_->check_kv();
    SIM_CHECK(open_ == scheduler_->waiting() + scheduler_->running(), "INV-1");
    const KvUsage kv = scheduler_->kv_usage();
    SIM_CHECK(kv.free_blocks + kv.held_blocks == kv.total_blocks, "INV-2");
    // A prompt may share blocks whose tokens another has computed and it has not (vllm-v0), so what
    // is stored for a sequence is bounded by what is known of it, not by what it computed.
    std::int64_t storable = 0;
    for (std::size_t i = 0; i < next_arrival_; ++i) {
      const Sequence& s = sequences_[i];
      const bool keeps_kv = s.state == SequenceState::kRunning ||
                            (s.finished() && case_.config.engine.release_at_batch_end);
      if (keeps_kv) storable += std::max(s.computed_tokens, s.known_tokens() + block_in_work());
      if (s.state == SequenceState::kPreempted) SIM_CHECK(s.computed_tokens == 0);
    }
    SIM_CHECK(kv.tokens_stored <= storable, "KV held for sequences that do not run");
    if (kv.block_size > 0) SIM_CHECK(kv.tokens_stored <= kv.held_blocks * kv.block_size);
  }

  // Slots of a block that is still refined.
  std::int32_t block_in_work() const {
    const bool diffuses = find_scheduler(case_.config.engine.scheduler).diffuses;
    return diffuses ? case_.config.block_length : 0;
  }

  void complete_step() {
    const StepPlan plan = std::move(in_flight_.front());
    in_flight_.pop_front();
    StepResult result;
    for (const ScheduledSequence& entry : plan.scheduled) {
      result.accepted_drafts.push_back(
          static_cast<std::int32_t>(stream_.uniform_int(0, entry.draft_tokens)));
    }
    StepUpdate update;
    scheduler_->complete(plan, result, update);
    for (const auto& emission : update.emitted) {
      Facts& f = facts(emission.sequence);
      SIM_CHECK(f.scheduled && !f.finished && emission.tokens >= 1);
      f.emitted += emission.tokens;
      SIM_CHECK(f.emitted == emission.sequence->output_tokens);
      record(emission.sequence->request->id, 98, emission.tokens);
    }
    for (const Sequence* s : update.finished) finish(*s);
    check_state();
    propose_drafts(plan);
  }

  void finish(const Sequence& s) {
    Facts& f = facts(&s);
    SIM_CHECK(s.finished() && !f.finished && !f.rejected);
    SIM_CHECK(s.finish_reason == FinishReason::kLength || s.finish_reason == FinishReason::kStop);
    const auto index = static_cast<std::size_t>(s.request->id);
    SIM_CHECK(f.emitted == case_.token_limit[index], "finished early or late");
    f.finished = true;
    --open_;
  }

  void propose_drafts(const StepPlan& plan) {
    if (case_.config.speculation.empty() || case_.config.engine.async_scheduling) return;
    for (const ScheduledSequence& entry : plan.scheduled) {
      if (!entry.samples || !entry.sequence->takes_drafts()) continue;
      entry.sequence->draft_tokens =
          static_cast<std::int32_t>(stream_.uniform_int(0, case_.config.num_speculative_tokens));
    }
  }

  // INV-5: an idle replica has nothing it could run, or says when it will.
  void wait_for_something(SimTime wake_at) {
    SimTime next = next_arrival_ < sequences_.size() ? case_.requests[next_arrival_].arrival
                                                     : SimTime::never();
    if (open_ > 0) {
      SIM_CHECK(wake_at != SimTime::never(), "INV-5: idle with requests waiting");
      next = std::min(next, wake_at);
    }
    if (next == SimTime::never()) return;
    SIM_CHECK(next > now_, "INV-5: idle at an instant at which it could run");
    now_ = next;
  }

  void check_end() {
    SIM_CHECK(scheduler_->waiting() == 0 && scheduler_->running() == 0);
    const KvUsage kv = scheduler_->kv_usage();
    SIM_CHECK(kv.held_blocks == 0 && kv.tokens_stored == 0, "INV-2: held at the end");
    for (const Facts& f : facts_) {
      SIM_CHECK(f.finished || f.rejected || f.aborted, "INV-6");  // one of them, at least
    }
  }

  template <typename... Values>
  void record(Values... values) {
    ((fingerprint_ = combine64(fingerprint_, static_cast<std::uint64_t>(values))), ...);
  }

  const SchedulerCase& case_;
  const TokenBudgetRule rule_ = token_budget_rule(case_.config.engine.scheduler);
  std::unique_ptr<Scheduler> scheduler_;
  RandomStream stream_;
  std::vector<Sequence> sequences_;
  std::vector<Facts> facts_;
  std::deque<StepPlan> in_flight_;
  std::size_t next_arrival_ = 0;
  std::int64_t open_ = 0;  // arrived, not finished, rejected or aborted
  std::int64_t steps_left_ = 100;
  SimTime now_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace

std::uint64_t run_case(const SchedulerCase& c, std::uint64_t seed) { return Run(c, seed).run(); }

}  // namespace headway::contract
