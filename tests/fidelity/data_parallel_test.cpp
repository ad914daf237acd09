// The invariants with data-parallel engines: in step, as a model with experts has them, and each on
// its own behind the balancer.
#include <map>
#include <string>

#include "sim/metrics/run_metrics.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

class Watch : public Observer {
 public:
  explicit Watch(bool in_step) : in_step_(in_step) {}

  void on_step(const StepRecord& s) override {
    CHECK(s.start >= last_end_[s.replica]);  // one step at a time
    last_end_[s.replica] = s.start + s.duration;
    CHECK(s.kv_blocks <= s.kv_blocks_total);
    ++steps_[s.replica];
    if (!in_step_) return;
    const std::uint32_t group = s.replica / 3;
    const auto [there, is_new] = ends_[group].try_emplace(s.start, s.start + s.duration);
    CHECK(there->second == s.start + s.duration);  // who begins together ends together
    if (!is_new || there == ends_[group].begin()) return;
    CHECK(std::prev(there)->second <= s.start);    // and nobody begins in between
  }
  void on_finish(const RequestRecord& r) override {
    ++finished_;
    if (r.failed) return;
    CHECK(r.arrival <= r.scheduled);  // INV-3
    CHECK(r.scheduled < r.first_token);
    SimTime sum;
    for (SimTime part : r.split) {
      CHECK(part >= SimTime());
      sum += part;
    }
    CHECK(sum == r.finish - r.arrival);
  }
  std::int64_t finished() const { return finished_; }
  std::size_t engines() const { return steps_.size(); }

 private:
  bool in_step_;
  std::map<std::uint32_t, SimTime> last_end_;
  std::map<std::uint32_t, int> steps_;
  std::map<std::uint32_t, std::map<SimTime, SimTime>> ends_;
  std::int64_t finished_ = 0;
};

// Two replicas of three engines, short of memory.
BenchEngine busy_engine(const std::string& scheduler, bool in_step) {
  BenchEngine bench = headway::busy_engine(scheduler);
  bench.blueprint.replica.in_step = in_step;
  bench.blueprint.data_parallel_size = 3;
  bench.blueprint.scheduler.num_blocks = 100;  // of each engine
  if (scheduler == "vllm-v1") {
    bench.engine().async_scheduling = true;
    bench.blueprint.scheduler.batches_in_flight = bench.blueprint.replica.batches_in_flight = 2;
  }
  bench.workload().request_rate = 120;
  return bench;
}

}  // namespace

TEST_CASE("INV-1 INV-2 INV-3 INV-6 hold with data-parallel engines under every scheduler",
          "[fidelity][parallel]") {
  for (const SchedulerEntry& entry : scheduler_table()) {
    for (bool in_step : {false, true}) {
      INFO(std::string(entry.name) << (in_step ? ", in step" : ""));
      BenchEngine bench = busy_engine(std::string(entry.name), in_step);
      Watch watch(in_step);
      Observer* observers[] = {&watch};
      RunOptions options;
      options.check_every_event = true;
      const RunOutcome outcome = bench.run(observers, options);
      CHECK(outcome.requests == 300);
      CHECK(watch.finished() == 300);
      CHECK(watch.engines() == 6);
      CHECK((outcome.dummy_steps > 0) == in_step);
    }
  }
}

TEST_CASE("INV-7 INV-8: data-parallel engines do the same again, and step by step",
          "[fidelity][parallel]") {
  for (const SchedulerEntry& entry : scheduler_table()) {
    for (bool in_step : {false, true}) {
      INFO(std::string(entry.name) << (in_step ? ", in step" : ""));
      const auto run = [&](bool step_by_step, std::uint64_t seed) {
        BenchEngine bench = busy_engine(std::string(entry.name), in_step);
        bench.scenario.seed = seed;
        RunOptions options;
        options.step_by_step = step_by_step;
        return bench.run({}, options).fingerprint;
      };
      CHECK(run(false, 1) == run(false, 1));
      CHECK(run(false, 1) == run(true, 1));
      CHECK(run(false, 1) != run(false, 2));
    }
  }
}
