// INV-8: of two schedulers with the same work one plans every sequence on its own, the other
// gathers those that decode (decode_set.h), and nothing tells them apart.
#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "sim/replica/replica_step.h"
#include "tests/contract/same_state.h"
#include "tests/contract/scheduler_case.h"
#include "tests/support/catch.h"

using namespace headway;
using namespace headway::contract;

namespace {

const SimTime kStep = SimTime::from_ns(1'000'000);

// The case in a larger engine, with longer prompts and far longer answers.
void enlarge(SchedulerCase& c, std::uint64_t seed) {
  RandomStream stream(seed, "larger case");
  constexpr std::int32_t kTimes = 8;
  EngineOptions& e = c.config.engine;
  e.max_model_len *= kTimes;
  e.max_num_batched_tokens *= kTimes;
  e.max_num_seqs *= 3;
  e.n_batch *= kTimes;
  e.chunked_prefill_size *= e.chunked_prefill_size > 0 ? kTimes : 1;
  e.max_prefill_tokens *= kTimes;
  c.config.num_blocks *= kTimes;
  c.config.num_cpu_blocks *= kTimes;
  for (Request& r : c.requests) {
    r.prompt_tokens *= static_cast<std::int32_t>(stream.uniform_int(1, kTimes));
    r.output_tokens *= kTimes;
    r.max_tokens *= kTimes;
  }
}

struct Side {
  Side(const SchedulerCase& c, bool gather) {
    SchedulerConfig config = c.config;
    config.gather_decodes = gather;
    scheduler = make_scheduler(config);
    for (const Request& r : c.requests) {
      const auto i = static_cast<std::uint32_t>(sequences.size());
      sequences.push_back(make_sequence(r, i, i, r.arrival));
    }
  }
  void plan(SimTime now) {
    StepPlan& newest = in_flight.emplace_back();
    scheduler->plan(now, newest);
    if (quiet >= 0) SIM_CHECK(newest.rejected.empty() && newest.wake_at == SimTime::never(), "quiet");
    quiet = std::max(quiet, scheduler->quiet_steps());
    scheduler->write_out(newest, entries);
  }
  void complete() {
    const StepPlan oldest = std::move(in_flight.front());
    in_flight.pop_front();
    scheduler->complete(oldest, {}, update);
    if (quiet > 0) SIM_CHECK(update.finished.empty(), "somebody left who was not to");
    quiet = std::max(quiet - 1, scheduler->quiet_steps());
  }
  std::unique_ptr<Scheduler> scheduler;
  std::deque<Sequence> sequences;
  std::deque<StepPlan> in_flight;
  std::vector<ScheduledSequence> entries;  // of the newest plan
  StepUpdate update;
  std::int64_t quiet = Scheduler::kUnsaid;  // the best promise so far (Scheduler::quiet_steps)
};

void same_entries(const Side& a, const Side& b) {
  SIM_CHECK(a.entries.size() == b.entries.size(), "sequences of a plan");
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const ScheduledSequence& x = a.entries[i];
    const ScheduledSequence& y = b.entries[i];
    SIM_CHECK(x.sequence->slot == y.sequence->slot && x.kind == y.kind, "order of a plan");
    SIM_CHECK(x.computed_before == y.computed_before && x.num_tokens == y.num_tokens, "tokens");
    SIM_CHECK(x.samples == y.samples && x.prefill == y.prefill && x.preemptions == y.preemptions);
  }
}

void same_plan(const StepPlan& a, const StepPlan& b) {
  SIM_CHECK(a.batch() == b.batch() && a.total_tokens == b.total_tokens, "size of a plan");
  SIM_CHECK(a.wake_at == b.wake_at, "wake_at");
  SIM_CHECK(a.swapped_in_blocks == b.swapped_in_blocks);
  SIM_CHECK(a.swapped_out_blocks == b.swapped_out_blocks);
  SIM_CHECK(a.preempted.size() == b.preempted.size() && a.rejected.size() == b.rejected.size());
  for (std::size_t i = 0; i < a.preempted.size(); ++i) {
    SIM_CHECK(a.preempted[i]->slot == b.preempted[i]->slot, "who is preempted");
  }
  for (std::size_t i = 0; i < a.rejected.size(); ++i) {
    SIM_CHECK(a.rejected[i].sequence->slot == b.rejected[i].sequence->slot, "who is rejected");
    SIM_CHECK(a.rejected[i].reason == b.rejected[i].reason);
  }
  StepShape x, y;
  shape_of(a, x);
  shape_of(b, y);
  SIM_CHECK(x.tokens == y.tokens && x.sampled_sequences == y.sampled_sequences, "shape");
  SIM_CHECK(x.decode_sequences == y.decode_sequences && x.decode_kv_max == y.decode_kv_max);
  SIM_CHECK(x.decode_kv_tokens == y.decode_kv_tokens, "tokens that the decodes read");
}

void same_update(const StepUpdate& a, const StepUpdate& b) {
  const auto tokens = [](const StepUpdate& update) {
    std::int64_t sum = update.gathered_tokens;
    for (const auto& emission : update.emitted) sum += emission.tokens;
    return sum;
  };
  SIM_CHECK(tokens(a) == tokens(b), "tokens out of a step");
  SIM_CHECK(a.finished.size() == b.finished.size(), "who finishes");
  for (std::size_t i = 0; i < a.finished.size(); ++i) {
    SIM_CHECK(a.finished[i]->slot == b.finished[i]->slot, "order of finishing");
    SIM_CHECK(a.finished[i]->finish_reason == b.finished[i]->finish_reason);
  }
}

void same_state(const Side& a, const Side& b) {
  b.scheduler->check_kv();
  contract::same_state(*a.scheduler, a.sequences, *b.scheduler, b.sequences);
}

struct Counts {
  std::int64_t gathered = 0;   // decodes planned together
  std::int64_t scattered = 0;  // sequences taken apart by a plan
  std::int64_t preempted = 0;
  std::int64_t quiet = 0;      // steps promised to end nobody, summed over plans
};

class Pair {
 public:
  Pair(const SchedulerCase& c, Counts& counts)
      : case_(c),
        counts_(counts),
        alone_(c, false),
        together_(c, true),
        aborted_(c.requests.size()) {}

  void run() {
    for (int turns = 0; turns < 100'000; ++turns) {
      deliver();
      alone_.plan(now_);
      together_.plan(now_);
      same_entries(alone_, together_);
      const StepPlan& plan = together_.in_flight.back();
      same_plan(alone_.in_flight.back(), plan);
      same_state(alone_, together_);
      counts_.gathered += plan.decodes.sequences;
      counts_.scattered += std::ssize(plan.scattered);
      counts_.preempted += std::ssize(plan.preempted);
      counts_.quiet += std::max<std::int64_t>(together_.quiet, 0);
      const bool idle = plan.empty();
      const SimTime wake_at = plan.wake_at;
      if (idle) {
        alone_.in_flight.pop_back();
        together_.in_flight.pop_back();
      } else if (std::ssize(together_.in_flight) < case_.config.batches_in_flight) {
        continue;
      }
      if (together_.in_flight.empty()) {
        const SimTime next = std::min(next_client(), std::max(wake_at, now_ + kStep));
        if (next == SimTime::never()) return;
        now_ = next;
        continue;
      }
      now_ += kStep;
      alone_.complete();
      together_.complete();
      same_update(alone_.update, together_.update);
      same_state(alone_, together_);
    }
    SIM_CHECK(false, "no end of it");
  }

 private:
  // At a time within a step, and between two plans.
  void deliver() {
    for (; arrived_ < case_.requests.size() && case_.requests[arrived_].arrival <= now_;
         ++arrived_) {
      for (Side* side : {&alone_, &together_}) {
        side->scheduler->add(side->sequences[arrived_]);
        side->quiet = Scheduler::kUnsaid;
      }
    }
    for (std::size_t i = 0; i < arrived_; ++i) {
      if (case_.aborts[i] > now_ || aborted_[i]) continue;
      aborted_[i] = true;
      for (Side* side : {&alone_, &together_}) {
        side->scheduler->abort(side->sequences[i]);
        side->quiet = Scheduler::kUnsaid;
      }
      same_state(alone_, together_);
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

  const SchedulerCase& case_;
  Counts& counts_;
  Side alone_, together_;
  std::vector<bool> aborted_;
  std::size_t arrived_ = 0;
  SimTime now_;
};

// Schedulers that gather.
const std::set<std::string> kGathers = {"vllm-v1",      "static", "orca", "vllm-0.2", "sarathi",
                                        "fcfs-nochunk", "sjf",    "vtc",  "edf",      "sglang",
                                        "trtllm",       "vllm-v0"};

// And those that say for how long nobody will leave.
const std::set<std::string> kForesees = {"vllm-v1"};

}  // namespace

TEST_CASE("INV-8: decodes planned together are those planned one by one",
          "[contract][scheduling][gathered]") {
  for (const SchedulerEntry& row : scheduler_table()) {
    Counts counts;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
      SchedulerCase c = draw_case(row.name, seed);
      if (seed % 3 == 0) enlarge(c, seed);
      std::string failure;
      try {
        Pair(c, counts).run();
      } catch (const std::exception& error) {
        failure = error.what();
      }
      INFO("seed " << seed << "\n" << describe(c));
      REQUIRE(failure == "");
    }
    INFO(row.name << ": " << counts.gathered << " gathered, " << counts.scattered << " scattered, "
                  << counts.preempted << " preempted, " << counts.quiet << " quiet");
    CHECK((counts.quiet > 50'000) == kForesees.contains(std::string(row.name)));
    if (kGathers.count(std::string(row.name)) == 0) continue;
    CHECK(counts.gathered > 50'000);
    // static and orca only with a paged cache, in some of the cases.
    CHECK(counts.scattered > 300);
    CHECK(counts.preempted > 150);
  }
}
