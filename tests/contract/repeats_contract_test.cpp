// What Scheduler::repeats() promises: of two schedulers with the same work one steps, the other
// repeats whenever it may, and nothing tells them apart.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "tests/contract/same_state.h"
#include "tests/contract/scheduler_case.h"
#include "tests/support/catch.h"

using namespace headway;
using namespace headway::contract;

namespace {

const SimTime kStep = SimTime::from_ns(1'000'000);

// A scheduler and the plans it has in flight.
struct Side {
  explicit Side(const SchedulerCase& c) : scheduler(make_scheduler(c.config)) {
    for (const Request& r : c.requests) {
      const auto i = static_cast<std::uint32_t>(sequences.size());
      sequences.push_back(make_sequence(r, i, i, r.arrival));
    }
  }
  void plan(SimTime now) { scheduler->plan(now, in_flight.emplace_back()); }
  void complete() {
    const StepPlan oldest = std::move(in_flight.front());
    in_flight.pop_front();
    scheduler->complete(oldest, {}, update);
  }
  std::unique_ptr<Scheduler> scheduler;
  std::deque<Sequence> sequences;
  std::deque<StepPlan> in_flight;
  StepUpdate update;
};

void same_plan(const StepPlan& a, const StepPlan& b) {
  SIM_CHECK(a.scheduled.size() == b.scheduled.size() && a.preempted.size() == b.preempted.size());
  SIM_CHECK(a.rejected.size() == b.rejected.size() && a.wake_at == b.wake_at);
  SIM_CHECK(a.decodes.sequences == b.decodes.sequences && a.decodes.kv_max == b.decodes.kv_max);
  SIM_CHECK(a.decodes.kv_tokens == b.decodes.kv_tokens && a.total_tokens == b.total_tokens);
  SIM_CHECK(a.swapped_in_blocks == b.swapped_in_blocks);
  SIM_CHECK(a.swapped_out_blocks == b.swapped_out_blocks);
  for (std::size_t i = 0; i < a.scheduled.size(); ++i) {
    const ScheduledSequence& x = a.scheduled[i];
    const ScheduledSequence& y = b.scheduled[i];
    SIM_CHECK(x.sequence->slot == y.sequence->slot && x.kind == y.kind && x.samples == y.samples);
    SIM_CHECK(x.computed_before == y.computed_before && x.num_tokens == y.num_tokens);
    SIM_CHECK(x.prefill == y.prefill && x.preemptions == y.preemptions);
  }
  for (std::size_t i = 0; i < a.preempted.size(); ++i) {
    SIM_CHECK(a.preempted[i]->slot == b.preempted[i]->slot);
  }
}

void same_state(const Side& a, const Side& b) {
  contract::same_state(*a.scheduler, a.sequences, *b.scheduler, b.sequences);
}

class Twins {
 public:
  Twins(const SchedulerCase& c, std::uint64_t seed)
      : case_(c),
        stepping_(c),
        skipping_(c),
        stream_(seed, "repeats"),
        aborted_(c.requests.size()) {}

  // The steps that were skipped.
  std::int64_t run() {
    for (int turns = 0; turns < 4000; ++turns) {
      deliver();
      bool idle = false;
      for (Side* side : {&stepping_, &skipping_}) {
        side->plan(now_);
        idle = side->in_flight.back().empty();
      }
      same();
      const SimTime wake_at = stepping_.in_flight.back().wake_at;
      if (idle) {
        stepping_.in_flight.pop_back();
        skipping_.in_flight.pop_back();
      }
      if (!idle && stepping_.in_flight.size() < depth()) continue;
      if (stepping_.in_flight.empty()) {
        const SimTime next = std::min(next_client(), std::max(wake_at, now_ + kStep));
        if (next == SimTime::never()) break;
        now_ = next;
        continue;
      }
      if (!idle) skip();
      now_ += kStep;
      stepping_.complete();
      skipping_.complete();
      same();
    }
    return skipped_;
  }

 private:
  std::size_t depth() const { return static_cast<std::size_t>(case_.config.batches_in_flight); }

  void same() {
    SIM_CHECK(stepping_.in_flight.size() == skipping_.in_flight.size());
    for (std::size_t i = 0; i < stepping_.in_flight.size(); ++i) {
      same_plan(stepping_.in_flight[i], skipping_.in_flight[i]);
    }
    same_state(stepping_, skipping_);
  }

  void deliver() {
    for (; arrived_ < case_.requests.size() && case_.requests[arrived_].arrival <= now_;
         ++arrived_) {
      for (Side* side : {&stepping_, &skipping_}) side->scheduler->add(side->sequences[arrived_]);
    }
    for (std::size_t i = 0; i < arrived_; ++i) {
      if (case_.aborts[i] > now_ || aborted_[i]) continue;
      aborted_[i] = true;
      for (Side* side : {&stepping_, &skipping_}) side->scheduler->abort(side->sequences[i]);
    }
  }

  SimTime next_client() const {
    SimTime next = SimTime::never();
    if (arrived_ < case_.requests.size()) next = case_.requests[arrived_].arrival;
    for (std::size_t i = 0; i < arrived_; ++i) {
      if (!aborted_[i]) next = std::min(next, case_.aborts[i]);
    }
    return next;
  }

  // The steps in flight are decodes of the same sequences, and nothing besides.
  bool may_ask() const {
    const StepPlan& newest = skipping_.in_flight.back();
    for (const StepPlan& plan : skipping_.in_flight) {
      if (plan.scheduled.size() != newest.scheduled.size()) return false;
      if (!plan.preempted.empty() || !plan.rejected.empty() || !plan.gathered.empty()) return false;
      if (plan.decodes.sequences != newest.decodes.sequences) return false;
      for (std::size_t i = 0; i < plan.scheduled.size(); ++i) {
        const ScheduledSequence& entry = plan.scheduled[i];
        const Sequence* s = newest.scheduled[i].sequence;
        const bool decodes = !entry.prefill && entry.kind == ScheduledKind::kRunning;
        if (!decodes || entry.sequence != s || s->finished()) return false;
        if (entry.preemptions != s->preemptions) return false;
      }
    }
    return true;
  }

  void skip() {
    if (!may_ask()) return;
    Repeats promise;
    skipping_.scheduler->repeats(skipping_.in_flight.back(), promise);
    std::int64_t steps = promise.steps;
    if (next_client() != SimTime::never()) {  // something comes in at the end of that step
      steps = std::min(steps, (next_client() - now_ - SimTime::from_ns(1)).ns() / kStep.ns());
    }
    if (steps <= 0) return;
    if (stream_.uniform() < 0.5) steps = stream_.uniform_int(1, steps);
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t free = stepping_.scheduler->kv_usage().free_blocks;
      now_ += kStep;
      stepping_.complete();
      SIM_CHECK(stepping_.update.finished.empty(), "a sequence ends in a promised step");
      stepping_.plan(now_);
      const std::int64_t taken = free - stepping_.scheduler->kv_usage().free_blocks;
      const auto period = std::ssize(promise.new_blocks);
      SIM_CHECK(
          taken == (period == 0 ? 0 : promise.new_blocks[static_cast<std::size_t>(step % period)]),
          "blocks of a step");
    }
    skipping_.scheduler->repeat(skipping_.in_flight.back(), steps);
    for (StepPlan& plan : skipping_.in_flight) {
      plan.decodes.kv_tokens += steps * plan.decodes.sequences;
      if (plan.decodes.sequences > 0) plan.decodes.kv_max += static_cast<std::int32_t>(steps);
      for (ScheduledSequence& entry : plan.scheduled) {
        entry.computed_before += static_cast<std::int32_t>(steps);
      }
    }
    skipping_.scheduler->check_kv();
    skipped_ += steps;
    same();
  }

  const SchedulerCase& case_;
  Side stepping_, skipping_;
  RandomStream stream_;
  std::vector<bool> aborted_;
  std::size_t arrived_ = 0;
  SimTime now_;
  std::int64_t skipped_ = 0;
};

}  // namespace

TEST_CASE("a repeated plan leaves what its steps would have left", "[contract][scheduling][skip]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    std::int64_t skipped = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
      SchedulerCase c = draw_case(row.name, seed);
      c.config.gather_decodes = c.config.speculation.empty();
      std::string failure;
      try {
        skipped += Twins(c, seed).run();
      } catch (const std::exception& error) {
        failure = error.what();
      }
      INFO("seed " << seed << "\n" << describe(c));
      REQUIRE(failure == "");
    }
    INFO(row.name);
    if (!row.diffuses) CHECK(skipped > 3000);  // a pass over a block is a step of its own
  }
}

TEST_CASE("a repeated plan leaves what its steps would have left, whatever the layers keep",
          "[contract][scheduling][skip][layout]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    for (const auto& [name, model] : small_models()) {
      std::int64_t skipped = 0;
      for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SchedulerCase c = draw_case(row.name, seed, model);
        c.config.gather_decodes = c.config.speculation.empty();
        c.config.counts_blocks = seed % 2 == 0;
        std::string failure;
        try {
          skipped += Twins(c, seed).run();
        } catch (const std::exception& error) {
          failure = error.what();
        }
        INFO(name << ", seed " << seed << "\n" << describe(c));
        REQUIRE(failure == "");
      }
      INFO(row.name << ", " << name);
      if (!row.diffuses) CHECK(skipped > 100);
    }
  }
}
