// Schedulers that fork (scheduling/sequence_group.h), on small random workloads of samples and
// beams in caches that are too small for them. To repeat a failure, run its seed.
#include <deque>
#include <map>
#include <set>
#include <sstream>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/group_driver.h"

using namespace headway;

namespace {

class Run {
 public:
  Run(std::string_view scheduler, std::uint64_t seed)
      : stream_(seed, "groups"), config_(draw_config(scheduler, seed)), driver_(config_) {}

  std::uint64_t run() {
    std::int32_t to_come = between(1, 6);
    for (std::int64_t steps = 20'000; open() > 0 || to_come > 0; --steps) {
      SIM_CHECK(steps > 0, "livelock");
      if (to_come > 0 && (open() == 0 || chance(0.2))) {
        driver_.arrive(draw_request());
        --to_come;
      }
      if (chance(0.01)) abort_one();
      check_state();
      StepPlan& plan = in_flight_.emplace_back();
      driver_.scheduler().plan(SimTime(), plan);
      check_plan(plan);
      check_state();
      const bool acted = !plan.empty() || !plan.rejected.empty() || !plan.preempted.empty();
      if (plan.empty()) in_flight_.pop_back();
      const bool full = std::ssize(in_flight_) == config_.batches_in_flight;
      if (!in_flight_.empty() && (full || !acted || in_flight_.size() > 1)) {
        complete();
      } else if (!acted && in_flight_.empty()) {
        SIM_CHECK(open() == 0, "INV-5: idle with requests waiting");
      }
    }
    while (!in_flight_.empty()) complete();
    SIM_CHECK(driver_.held() == 0, "INV-2: held at the end");
    SIM_CHECK(driver_.scheduler().kv_usage().tokens_stored == 0);
    for (const auto& entry : driver_.entries()) check_end(entry);
    return fingerprint_;
  }

  std::string text() const {
    std::ostringstream out;
    out << "blocks " << config_.num_blocks << ", depth " << config_.batches_in_flight << ", async "
        << config_.engine.async_scheduling << ", policy " << config_.engine.policy << ", caching "
        << config_.engine.enable_prefix_caching << ", k " << config_.num_speculative_tokens;
    return out.str();
  }
  std::int64_t forks = 0, drops = 0, copies = 0, preemptions = 0, gangs = 0;

 private:
  std::int32_t between(std::int32_t lo, std::int32_t hi) {
    return static_cast<std::int32_t>(stream_.uniform_int(lo, hi));
  }
  bool chance(double p) { return stream_.uniform() < p; }

  SchedulerConfig draw_config(std::string_view scheduler, std::uint64_t seed) {
    SchedulerConfig c;
    EngineOptions& e = c.engine;
    e.scheduler = scheduler;
    e.block_size = between(1, 5);
    e.max_model_len = 40;
    e.max_num_seqs = between(1, 8);
    e.max_num_batched_tokens = between(1, 40);
    e.enable_prefix_caching = chance(0.5);
    e.async_scheduling = chance(0.5);
    if (chance(0.3)) e.policy = "priority";
    if (chance(0.3)) e.long_prefill_token_threshold = between(1, 9);
    e.scheduler_reserve_full_isl = chance(0.2);
    e.beam_switch_probability = between(0, 4) * 0.25;
    c.batches_in_flight = e.async_scheduling ? between(2, 3) : between(1, 3);
    if (chance(0.2)) {
      c.speculation = "eagle";
      c.num_speculative_tokens = between(1, 3);
    }
    c.num_blocks = 1 + (e.max_model_len + e.block_size - 1) / e.block_size + between(0, 12);
    c.seed = seed;
    return c;
  }

  Request draw_request() {
    Request r;
    r.prompt_tokens = between(1, 24);
    r.output_tokens = between(1, 40 - r.prompt_tokens);
    r.max_tokens = chance(0.2) ? r.output_tokens + between(0, 3) : 0;
    r.priority = between(0, 2);
    const std::int32_t kind = between(0, 3);
    if (kind == 1) r.samples = between(2, 5);
    if (kind >= 2) r.beam_width = between(2, 5);
    if (chance(0.3)) {
      r.prefix_group = 0;
      r.prefix_tokens = between(1, r.prompt_tokens);
    }
    return r;
  }

  std::int64_t open() const {
    std::int64_t n = 0;
    for (const auto& entry : const_cast<Run*>(this)->driver_.entries()) {
      for (const Sequence& s : entry.sequences) n += !s.finished();
    }
    return n;
  }

  void abort_one() {
    if (driver_.entries().empty()) return;
    auto& entry = driver_.entries()[static_cast<std::size_t>(
        between(0, static_cast<std::int32_t>(driver_.entries().size()) - 1))];
    const auto n = static_cast<std::int32_t>(entry.sequences.size());
    driver_.scheduler().abort(entry.sequences[static_cast<std::size_t>(between(0, n - 1))]);
  }

  void check_state() {
    Scheduler& s = driver_.scheduler();
    s.check_kv();
    SIM_CHECK(open() == s.waiting() + s.running(), "INV-1");
    SIM_CHECK(s.running() <= config_.engine.max_num_seqs, "INV-4: more sequences than seats");
    const KvUsage kv = s.kv_usage();
    SIM_CHECK(kv.free_blocks + kv.held_blocks == kv.total_blocks, "INV-2");
    SIM_CHECK(kv.table_blocks >= kv.held_blocks);
    for (const auto& entry : driver_.entries()) {
      if (!entry.group.beams) continue;
      for (const Sequence& beam : entry.sequences) {
        SIM_CHECK(beam.output_tokens == entry.sequences.front().output_tokens, "beams out of step");
        SIM_CHECK(beam.finished() == entry.sequences.front().finished(), "a beam left alone");
      }
    }
  }

  void check_plan(const StepPlan& plan) {
    std::int32_t total = 0;
    std::set<const Sequence*> seen;
    std::map<const SequenceGroup*, std::size_t> beams;
    for (const ScheduledSequence& entry : plan.scheduled) {
      const Sequence& s = *entry.sequence;
      SIM_CHECK(seen.insert(&s).second && s.state == SequenceState::kRunning);
      SIM_CHECK(entry.num_tokens > 0 &&
                s.computed_tokens == entry.computed_before + entry.num_tokens);
      total += entry.num_tokens;
      const bool decoding_beam =
          s.group != nullptr && s.group->beams && s.group->forked && !entry.forks;
      if (decoding_beam) ++beams[s.group];
      note(s.slot, entry.num_tokens, entry.computed_before, entry.forks);
    }
    for (const auto& [group, n] : beams) {
      SIM_CHECK(n == group->members.size(), "beams are scheduled all or none");
    }
    SIM_CHECK(total == plan.total_tokens && total <= config_.engine.max_num_batched_tokens,
              "INV-4");
    for (const Sequence* s : plan.preempted) {
      SIM_CHECK(seen.count(s) == 0 && s->computed_tokens == 0);
      gangs += s->group != nullptr && s->group->beams && s->sample == 0;
      note(s->slot, 99);
    }
    for (const Rejection& r : plan.rejected) SIM_CHECK(!r.reason.empty() && r.sequence->finished());
    forks += plan.forked_sequences;
    copies += plan.copied_blocks;
    preemptions += std::ssize(plan.preempted);
  }

  void complete() {
    const StepPlan plan = std::move(in_flight_.front());
    in_flight_.pop_front();
    StepResult result;
    for (const ScheduledSequence& entry : plan.scheduled) {
      result.accepted_drafts.push_back(between(0, entry.draft_tokens));
    }
    driver_.scheduler().complete(plan, result, driver_.update);
    drops += driver_.update.dropped_beams;
    for (const auto& emission : driver_.update.emitted) {
      note(emission.sequence->slot, emission.tokens);
      if (config_.num_speculative_tokens > 0 && !config_.engine.async_scheduling &&
          emission.sequence->takes_drafts()) {
        emission.sequence->draft_tokens = between(0, config_.num_speculative_tokens);
      }
    }
    check_state();
  }

  void check_end(const GroupDriver::Entry& entry) const {
    for (const Sequence& s : entry.sequences) {
      SIM_CHECK(s.finished(), "INV-6");
      if (s.finish_reason == FinishReason::kAborted) continue;
      if (s.finish_reason == FinishReason::kRejected) continue;
      const std::int32_t room = config_.engine.max_model_len - s.prompt_tokens;
      SIM_CHECK(s.output_tokens == std::min(s.output_target, room), "ended early or late");
    }
  }

  template <typename... Values>
  void note(Values... values) {
    ((fingerprint_ = combine64(fingerprint_, static_cast<std::uint64_t>(values))), ...);
  }

  RandomStream stream_;
  SchedulerConfig config_;
  GroupDriver driver_;
  std::deque<StepPlan> in_flight_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace

TEST_CASE("schedulers that fork keep the invariants with samples and beams",
          "[contract][scheduling]") {
  std::int64_t forks = 0, drops = 0, copies = 0, preemptions = 0, gangs = 0;
  for (const SchedulerEntry& row : scheduler_table()) {
    if (!row.forks) continue;
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
      Run run(row.name, seed);
      std::string failure;
      try {
        const std::uint64_t first = run.run();
        if (Run(row.name, seed).run() != first) failure = "INV-7: two runs differ";
      } catch (const std::exception& error) {
        failure = error.what();
      }
      INFO(row.name << ", seed " << seed << ": " << run.text());
      REQUIRE(failure == "");
      forks += run.forks;
      drops += run.drops;
      copies += run.copies;
      preemptions += run.preemptions;
      gangs += run.gangs;
    }
  }
  // The cases must reach what they are for.
  REQUIRE(forks > 1000);
  REQUIRE(drops > 1000);
  REQUIRE(copies > 1000);
  REQUIRE(preemptions > 1000);
  REQUIRE(gangs > 100);
}
