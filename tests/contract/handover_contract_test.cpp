// Schedulers between replicas: sequences that come with the KV of their prompt, among others that are
// computed here and others whose KV goes elsewhere. INV-1, 2, 4, 5, 6 after every call, and INV-8:
// one scheduler plans every sequence on its own, the other gathers those that decode.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "tests/contract/scheduler_case.h"
#include "tests/support/catch.h"

using namespace headway;
using namespace headway::contract;

namespace {

const SimTime kStep = SimTime::from_ns(1'000'000);

enum class Part { kBoth, kPrompt, kAnswer };  // of a request that is served here

struct Counts {
  std::int64_t received = 0, kept = 0, preempted = 0, refused_room = 0, gathered = 0;
};

class Run {
 public:
  Run(const SchedulerCase& c, std::uint64_t seed, bool gather, Counts& counts)
      : case_(c), counts_(counts), stream_(seed, "handovers") {
    SchedulerConfig config = c.config;
    config.gather_decodes = gather;
    scheduler_ = make_scheduler(config);
    for (const Request& r : c.requests) {
      const auto i = static_cast<std::uint32_t>(sequences_.size());
      Sequence& s = sequences_.emplace_back(make_sequence(r, i, i, r.arrival));
      parts_.push_back(static_cast<Part>(stream_.uniform_int(0, 2)));
      if (s.output_target < 2 || c.token_limit[i] == 1) parts_.back() = Part::kBoth;
      delays_.push_back(kStep * stream_.uniform_int(0, 12));
      if (parts_.back() == Part::kPrompt) {
        s.keeps_kv = true;
        s.max_tokens = s.output_target = 1;
      }
      if (parts_.back() == Part::kAnswer) s.output_tokens = 1;
      gone_.push_back(false);
    }
  }

  // What happened, in numbers.
  const std::vector<std::int64_t>& run() {
    for (int turns = 0; turns < 100'000; ++turns) {
      deliver();
      StepPlan& plan = in_flight_.emplace_back();
      scheduler_->plan(now_, plan);
      check_plan(plan);
      const bool acted = !plan.preempted.empty() || !plan.rejected.empty();
      const SimTime wake_at = plan.wake_at;
      if (plan.empty()) {
        in_flight_.pop_back();
      } else if (std::ssize(in_flight_) < case_.config.batches_in_flight) {
        continue;
      }
      if (!in_flight_.empty()) {
        now_ += kStep;
        complete();
        continue;
      }
      if (acted) continue;
      // Or held up by KV that is being sent, from here or to here.
      const bool held_up = !leaving_.empty() || !coming_.empty();
      SIM_CHECK(open_ == 0 || wake_at != SimTime::never() || held_up, "INV-5: idle");
      if (open_ == 0 && leaving_.empty() && offers_.empty() && arrived_ == sequences_.size()) {
        SIM_CHECK(scheduler_->kv_usage().held_blocks == 0, "INV-2: held at the end");
        for (const Sequence& s : sequences_) SIM_CHECK(s.finished(), "INV-6");
        return log_;
      }
      now_ += kStep;
    }
    SIM_CHECK(false, "INV-6: no end of it");
    return log_;
  }

 private:
  using Due = std::multimap<SimTime, Sequence*>;

  void deliver() {
    for (; arrived_ < sequences_.size() && case_.requests[arrived_].arrival <= now_; ++arrived_) {
      Sequence& s = sequences_[arrived_];
      if (parts_[arrived_] == Part::kAnswer) {
        offers_.push_back(&s);
        continue;
      }
      ++open_;
      scheduler_->add(s);
      check();
    }
    for (; !coming_.empty() && coming_.begin()->first <= now_; coming_.erase(coming_.begin())) {
      scheduler_->receive(*coming_.begin()->second);
      check();
    }
    for (; !leaving_.empty() && leaving_.begin()->first <= now_; leaving_.erase(leaving_.begin())) {
      scheduler_->release(*leaving_.begin()->second);
      check();
    }
    for (std::size_t i = 0; i < arrived_; ++i) {
      if (case_.aborts[i] <= now_ && !gone_[i]) abort(sequences_[i]);
    }
    while (!offers_.empty() && offer(*offers_.front())) offers_.pop_front();
  }

  void abort(Sequence& s) {
    gone_[s.slot] = true;
    if (std::erase(offers_, &s) > 0) {
      s.state = SequenceState::kFinished;
      return;
    }
    if (s.finished()) return;
    std::erase_if(coming_, [&](const auto& due) { return due.second == &s; });
    scheduler_->abort(s);
    --open_;
    check();
  }

  // Whether it is settled.
  bool offer(Sequence& s) {
    const KvUsage before = scheduler_->kv_usage();
    const Expected e = scheduler_->expect(s);
    open_ += e.taken;
    check();
    log_.insert(log_.end(), {s.slot, e.taken, e.cached_tokens});
    if (!e.never.empty()) {
      SIM_CHECK(!case_.must_serve_all && !e.taken, "refused though it fits: " + e.never);
      s.state = SequenceState::kFinished;
      return true;
    }
    if (!e.taken) {
      SIM_CHECK(scheduler_->kv_usage().free_blocks == before.free_blocks, "refused with effect");
      SIM_CHECK(before.held_blocks > 0 || open_ > 0, "INV-6: an empty cache has no room");
      ++counts_.refused_room;
      return false;
    }
    SIM_CHECK(e.cached_tokens <= s.prompt_tokens);
    SIM_CHECK(scheduler_->kv_usage().held_blocks > 0);
    coming_.emplace(now_ + delays_[s.slot], &s);
    ++counts_.received;
    return true;
  }

  void check() {
    scheduler_->check_kv();
    SIM_CHECK(open_ == scheduler_->waiting() + scheduler_->running(), "INV-1");
    const KvUsage kv = scheduler_->kv_usage();
    SIM_CHECK(kv.free_blocks + kv.held_blocks == kv.total_blocks, "INV-2");
  }

  void check_plan(const StepPlan& plan) {
    const SchedulerEntry& row = find_scheduler(case_.config.engine.scheduler);
    SIM_CHECK(plan.batch() <= case_.config.engine.max_num_seqs, "INV-4: seats");
    if (row.token_budget == TokenBudgetRule::kAlways) {
      SIM_CHECK(plan.total_tokens <= case_.config.engine.max_num_batched_tokens, "INV-4: tokens");
    }
    for (const Rejection& r : plan.rejected) {
      SIM_CHECK(!case_.must_serve_all, "rejected though it fits: " + r.reason);
      --open_;
    }
    counts_.preempted += std::ssize(plan.preempted);
    counts_.gathered += plan.decodes.sequences;
    for (const Sequence* s : plan.preempted) log_.push_back(-1 - std::int64_t{s->slot});
    scheduler_->write_out(plan, entries_);
    for (const ScheduledSequence& e : entries_) {
      const Sequence& s = *e.sequence;
      log_.insert(log_.end(), {s.slot, e.computed_before, e.num_tokens, e.samples, e.prefill});
      if (e.kind != ScheduledKind::kNew) continue;
      const bool came = parts_[s.slot] == Part::kAnswer;
      SIM_CHECK(e.prefill != came, "a received sequence decodes, another one is prefilled");
      if (came) SIM_CHECK(e.computed_before == s.prompt_tokens && e.samples);
    }
    check();
  }

  void complete() {
    const StepPlan plan = std::move(in_flight_.front());
    in_flight_.pop_front();
    StepResult result;
    result.accepted_drafts.assign(plan.scheduled.size(), 0);
    StepUpdate update;
    scheduler_->complete(plan, result, update);
    for (Sequence* s : update.finished) {
      --open_;
      log_.insert(log_.end(), {s->slot, s->output_tokens});
      const std::int32_t whole = case_.token_limit[s->slot];
      SIM_CHECK(s->output_tokens == (s->keeps_kv ? 1 : whole), "finished early or late");
      if (!s->keeps_kv) continue;
      leaving_.emplace(now_ + delays_[s->slot], s);
      ++counts_.kept;
    }
    check();
  }

  const SchedulerCase& case_;
  Counts& counts_;
  RandomStream stream_;
  std::unique_ptr<Scheduler> scheduler_;
  std::deque<Sequence> sequences_;
  std::vector<Part> parts_;      // by sequence, as the next two
  std::vector<SimTime> delays_;  // of its transfer
  std::vector<bool> gone_;       // the client
  std::deque<Sequence*> offers_;
  Due coming_, leaving_;
  std::deque<StepPlan> in_flight_;
  std::vector<ScheduledSequence> entries_;
  std::vector<std::int64_t> log_;
  std::size_t arrived_ = 0;
  std::int64_t open_ = 0;
  SimTime now_;
};

// A case whose prompts are short enough to leave the cache room for several.
SchedulerCase draw(std::string_view scheduler, std::uint64_t seed) {
  SchedulerCase c = draw_case(scheduler, seed);
  if (seed % 2 == 0) return c;
  c.config.num_blocks *= 4;
  c.config.engine.max_num_seqs += 3;
  if (scheduler == "sglang") c.config.num_blocks *= 60;  // a server that decodes keeps 512 a sequence
  return c;
}

}  // namespace

TEST_CASE("sequences may begin in one replica and go on in another", "[contract][scheduling][pd]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    if (!row.receives_kv) continue;
    CHECK(row.hands_over_kv);
    Counts counts;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const SchedulerCase c = draw(row.name, seed);
      std::string failure;
      try {
        Counts unused;
        const std::vector<std::int64_t> alone = Run(c, seed, false, unused).run();
        if (Run(c, seed, true, counts).run() != alone) failure = "INV-8: not the same when gathered";
      } catch (const std::exception& error) {
        failure = error.what();
      }
      INFO("seed " << seed << "\n" << describe(c));
      REQUIRE(failure == "");
    }
    INFO(row.name << ": " << counts.received << " received, " << counts.kept << " kept, "
                  << counts.preempted << " preempted, " << counts.refused_room << " without room");
    CHECK(counts.received > 700);
    CHECK(counts.kept > 700);
    CHECK(counts.refused_room > 100);
    CHECK(counts.gathered > 1000);
  }
}

TEST_CASE("a scheduler that knows nothing of other replicas says so", "[contract][scheduling][pd]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    if (row.receives_kv) continue;
    SchedulerCase c = draw_case(row.name, 1);
    const auto scheduler = make_scheduler(c.config);
    Sequence s = make_sequence(c.requests.front(), 0, 0, SimTime());
    INFO(row.name);
    CHECK_THROWS_AS(scheduler->receive(s), InternalError);
  }
}
