// INV-1..7 and 9 over whole simulations. (The contract tests hold the schedulers to INV-2, 4, 5, 6
// step by step; here they are held inside the loop.)
#include <map>
#include <string>

#include "sim/metrics/run_metrics.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

// Listens for what must never happen.
class Watch : public Observer {
 public:
  explicit Watch(const EngineOptions& engine) : engine_(engine) {}

  void on_arrival(std::uint64_t id, SimTime now) override { arrivals_[id] = now; }
  void on_step(const StepRecord& s) override {
    CHECK(s.start >= last_end_[s.replica]);                             // one step at a time
    last_end_[s.replica] = s.start + s.duration;
    if (budgeted_) CHECK(s.prefill_tokens + s.decode_tokens <= engine_.max_num_batched_tokens);
    CHECK(s.batch <= engine_.max_num_seqs);                             // INV-4
    CHECK(s.kv_blocks <= s.kv_blocks_total);
  }
  void on_finish(const RequestRecord& r) override {
    ++finished_;
    if (r.failed) return;
    CHECK(r.arrival <= r.scheduled);                                    // INV-3
    CHECK(r.scheduled < r.first_token);
    CHECK(r.first_token <= r.finish);
    CHECK(r.arrival >= arrivals_[r.id]);
    SimTime sum;
    for (SimTime part : r.split) {
      CHECK(part >= SimTime());
      sum += part;
    }
    CHECK(sum == r.finish - r.arrival);
    preemptions_ += r.preemptions;
  }
  void unbudgeted() { budgeted_ = false; }
  std::int64_t finished() const { return finished_; }
  std::int64_t preemptions() const { return preemptions_; }

 private:
  EngineOptions engine_;
  bool budgeted_ = true;
  std::map<std::uint64_t, SimTime> arrivals_;
  std::map<std::uint32_t, SimTime> last_end_;
  std::int64_t finished_ = 0, preemptions_ = 0;
};

}  // namespace

TEST_CASE("INV-1 INV-2 INV-3 INV-4 INV-6 hold at every event under every scheduler", "[fidelity]") {
  for (const SchedulerEntry& entry : scheduler_table()) {
    INFO(std::string(entry.name));
    BenchEngine bench = busy_engine(std::string(entry.name));
    Watch watch(bench.engine());
    if (entry.token_budget != TokenBudgetRule::kAlways) watch.unbudgeted();
    Observer* observers[] = {&watch};
    RunOptions options;
    options.check_every_event = true;
    const RunOutcome outcome = bench.run(observers, options);
    CHECK(outcome.requests == 300);
    CHECK(watch.finished() == 300);
  }
}

TEST_CASE("INV-5: a replica is never idle while it could run something", "[fidelity]") {
  // One seat, constant service: every gap between steps must be a gap without requests.
  class Gaps : public Observer {
   public:
    void on_arrival(std::uint64_t, SimTime now) override { arrivals.push_back(now); }
    void on_step(const StepRecord& s) override {
      if (s.start > last_end) idle.emplace_back(last_end, s.start);
      last_end = s.start + s.duration;
    }
    void on_finish(const RequestRecord& r) override { finishes.push_back(r.finish); }
    std::vector<SimTime> arrivals, finishes;
    std::vector<std::pair<SimTime, SimTime>> idle;
    SimTime last_end;
  };
  BenchEngine bench;
  bench.engine().max_num_seqs = 2;
  bench.workload().num_prompts = 2000;
  bench.workload().request_rate = 300;
  bench.workload().output_len.value = 4;
  Gaps gaps;
  Observer* observers[] = {&gaps};
  bench.run(observers);
  REQUIRE(!gaps.idle.empty());
  for (const auto& [from, to] : gaps.idle) {
    const auto before = [](const std::vector<SimTime>& v, SimTime t) {
      return std::count_if(v.begin(), v.end(), [t](SimTime x) { return x < t; });
    };
    CHECK(before(gaps.arrivals, to) == std::count_if(gaps.finishes.begin(), gaps.finishes.end(),
                                                     [&](SimTime x) { return x <= from; }));
  }
}

TEST_CASE("INV-7: the same scenario and seed give the same events, another seed others",
          "[fidelity]") {
  for (const SchedulerEntry& entry : scheduler_table()) {
    INFO(std::string(entry.name));
    const auto fingerprint = [&](std::uint64_t seed) {
      BenchEngine bench = busy_engine(std::string(entry.name));
      bench.scenario.seed = seed;
      return bench.run({}).fingerprint;
    };
    CHECK(fingerprint(1) == fingerprint(1));
    CHECK(fingerprint(1) != fingerprint(2));
  }
}

TEST_CASE("a request longer than max_model_len is refused with the reason and the rest go on",
          "[fidelity]") {
  class Refused : public Observer {
   public:
    void on_finish(const RequestRecord& r) override {
      if (r.failed) reasons.push_back(r.finish_reason);
      else ++served;
    }
    std::vector<std::string> reasons;
    int served = 0;
  };
  BenchEngine bench;
  bench.workload().num_prompts = 200;
  bench.workload().input_len = {.distribution = "uniform", .low = 4000, .high = 4200};
  Refused refused;
  Observer* observers[] = {&refused};
  bench.run(observers);
  CHECK(refused.served > 0);
  REQUIRE(!refused.reasons.empty());
  CHECK(refused.served + std::ssize(refused.reasons) == 200);
  CHECK_THAT(refused.reasons.front(), ContainsSubstring("exceed max_model_len 4096"));
}
