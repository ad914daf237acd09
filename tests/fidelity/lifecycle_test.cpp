// Replicas that fail, start, drain and are scaled: closed forms, and the invariants through it all.
#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"
#include "tests/support/fleet_bench.h"

using namespace headway;

namespace {

constexpr double kForGood = std::numeric_limits<double>::infinity();

SimTime part(const RequestRecord& r, LatencyPart p) { return r.split[static_cast<std::size_t>(p)]; }
SimTime ms(double t) { return SimTime::from_ms(t); }

// Ten requests at once, a hundred steps of a millisecond each: at 100 ms all have left.
BenchEngine ten(std::int32_t replicas) {
  BenchEngine bench;
  bench.scenario.cluster.replicas = replicas;
  bench.workload().num_prompts = 10;
  bench.workload().request_rate = std::numeric_limits<double>::infinity();
  bench.workload().output_len.value = 100;
  return bench;
}

std::vector<RequestRecord> records(const BenchEngine& bench, RunOutcome* outcome = nullptr) {
  Finished finished;
  Observer* observers[] = {&finished};
  RunOptions options;
  options.check_every_event = true;
  const RunOutcome run = simulate(bench.scenario, bench.blueprint, observers, options);
  if (outcome != nullptr) *outcome = run;
  return finished.records;
}

// What must never happen, while replicas come, go and fail.
class Watch : public Observer {
 public:
  void on_arrival(std::uint64_t id, SimTime now) override { arrivals[id] = now; }
  void on_step(const StepRecord& s) override {
    Engine& engine = engines[s.replica];
    CHECK(s.start >= engine.last_end);  // one step at a time, whoever the engine is
    CHECK(s.step == engine.steps);      // counted through
    engine.last_end = s.start + s.duration;
    ++engine.steps;
  }
  void on_finish(const RequestRecord& r) override {
    ++left[r.id];
    CHECK(arrivals.contains(r.id));
    SimTime sum;
    for (const SimTime p : r.split) {
      CHECK(p >= SimTime());
      sum += p;
    }
    CHECK(sum == r.finish - r.arrival);  // INV-3
    retried += part(r, LatencyPart::kRetry) > SimTime();
    refused += r.replica == kNoReplica;
    if (r.failed) return;
    CHECK(r.arrival <= r.scheduled);
    CHECK(r.scheduled < r.first_token);
    CHECK(r.first_token <= r.finish);
  }
  void on_fleet(const FleetRecord& f) override {
    settle(f.now);
    fleet[f.pool] = f;
    most = std::max(most, f.ready);
    fewest = std::min(fewest, f.ready);
  }
  void on_end(SimTime now) override { settle(now); }

  struct Engine {
    SimTime last_end;
    std::uint64_t steps = 0;
  };
  std::map<std::uint64_t, SimTime> arrivals;
  std::map<std::uint64_t, int> left;
  std::map<std::uint32_t, Engine> engines;
  std::map<std::uint32_t, FleetRecord> fleet;
  double provisioned_s = 0;  // by what was announced
  std::int64_t retried = 0, refused = 0;
  std::int32_t most = 0, fewest = INT32_MAX;

 private:
  void settle(SimTime now) {
    for (auto& [pool, f] : fleet) {
      provisioned_s += (f.starting + f.ready + f.draining + f.failed) * (now - since_).seconds();
    }
    since_ = now;
  }
  SimTime since_;
};

AutoscalerOptions autoscaler(const std::string& metric, double target) {
  AutoscalerOptions o;
  o.max_replicas = 4;
  o.metric = metric;
  o.target = target;
  o.interval_s = 0.3;
  o.scale_down_cooldown_s = 0.5;
  return o;
}

// All of it at once: failures at random, a start that takes its time, an autoscaler.
BenchEngine restless(const std::string& scheduler, const std::string& metric, double target) {
  BenchEngine bench = busy_engine(scheduler);
  ClusterOptions& c = bench.scenario.cluster;
  c.router = "least-outstanding";
  c.lifecycle.startup_s = 0.4;
  c.lifecycle.failures = {{0, 1.0, 0.2}, {1, 1.7, 0.5}};
  c.lifecycle.failures_random = RandomFailureOptions{3, 0.3};
  c.lifecycle.autoscaler = autoscaler(metric, target);
  bench.scenario.slo.ttft_ms = 300;
  return bench;
}

}  // namespace

TEST_CASE("one of two replicas fails: exactly its requests are sent again", "[fidelity][fleet]") {
  BenchEngine bench = ten(2);
  bench.scenario.cluster.lifecycle.failures = {{1, 0.05, 1}};
  RunOutcome outcome;
  const std::vector<RequestRecord> all = records(bench, &outcome);
  REQUIRE(all.size() == 10);
  for (const RequestRecord& r : all) {
    CHECK(r.replica == 0);
    const bool moved = r.id % 2 == 1;  // round-robin
    CHECK(r.finish == ms(moved ? 150 : 100));
    CHECK(part(r, LatencyPart::kRetry) == ms(moved ? 50 : 0));
    CHECK(r.first_token == ms(moved ? 51 : 1));
  }
  CHECK(outcome.failures == 1);
  CHECK(outcome.retries == 5);
  CHECK(outcome.pools.front().provisioned_s == Approx(2 * 0.150));
}

TEST_CASE("on_failure fail: exactly its requests are lost, with the reason", "[fidelity][fleet]") {
  BenchEngine bench = ten(2);
  bench.scenario.cluster.lifecycle.failures = {{1, 0.05, 1}};
  bench.scenario.cluster.lifecycle.on_failure = "fail";
  int lost = 0;
  for (const RequestRecord& r : records(bench)) {
    CHECK(r.failed == (r.id % 2 == 1));
    if (!r.failed) continue;
    ++lost;
    CHECK(r.finish == ms(50));
    CHECK(r.finish_reason == "its replica failed");
    CHECK(part(r, LatencyPart::kRetry) == ms(50));
  }
  CHECK(lost == 5);
}

TEST_CASE("with no replica ready requests wait, through down time and start", "[fidelity][fleet]") {
  BenchEngine bench = ten(1);
  bench.scenario.cluster.lifecycle.failures = {{0, 0.05, 0.2}};
  bench.scenario.cluster.lifecycle.startup_s = 0.3;
  for (const RequestRecord& r : records(bench)) {
    CHECK(r.finish == ms(50 + 500 + 100));
    CHECK(part(r, LatencyPart::kRetry) == ms(550));
  }
  // One that arrives meanwhile has lost nothing: it queued.
  bench.workload().num_prompts = 2;
  bench.workload().request_rate = 5;  // at 200 and 400 ms
  bench.workload().burstiness = 1e9;
  bench.scenario.cluster.lifecycle.failures = {{0, 0.25, 0.2}};
  const std::vector<RequestRecord> two = records(bench);
  REQUIRE(two.size() == 2);
  for (const RequestRecord& r : two) {
    CHECK(r.finish.ms() == Approx(750 + 100).margin(0.1));
    CHECK(part(r, LatencyPart::kRetry).ms() == Approx(r.id == 0 ? 550 : 0).margin(0.1));
    CHECK(part(r, LatencyPart::kQueue).ms() == Approx(r.id == 0 ? 0 : 350).margin(0.1));
  }
}

TEST_CASE("INV-6: with no replica left requests are turned away with the reason",
          "[fidelity][fleet]") {
  BenchEngine bench = ten(1);
  bench.workload().num_prompts = 12;
  bench.workload().max_concurrency = 10;
  bench.scenario.cluster.lifecycle.failures = {{0, 0.05, kForGood}};
  const std::vector<RequestRecord> all = records(bench);
  REQUIRE(all.size() == 12);
  for (const RequestRecord& r : all) {
    CHECK(r.failed);
    CHECK(r.replica == kNoReplica);
    CHECK(r.finish_reason == "no replica is left");
    CHECK(r.finish == ms(50));
  }
}

TEST_CASE("a request on its way through the host of a replica that fails is sent again",
          "[fidelity][fleet]") {
  BenchEngine bench = ten(2);
  bench.blueprint.replica.host.per_request = ms(80);
  bench.scenario.cluster.lifecycle.failures = {{1, 0.05, 1}};
  for (const RequestRecord& r : records(bench)) {
    CHECK(part(r, LatencyPart::kHost) == ms(80));
    CHECK(part(r, LatencyPart::kRetry) == ms(r.id % 2 == 1 ? 50 : 0));
    CHECK(r.finish == ms(r.id % 2 == 1 ? 230 : 180));
  }
}

TEST_CASE("an autoscaler's rise, by hand", "[fidelity][fleet]") {
  BenchEngine bench = ten(1);
  bench.workload().num_prompts = 20;
  bench.workload().output_len.value = 1000;  // until 1 s, all in replica 0
  AutoscalerOptions o = autoscaler("outstanding", 5);
  o.interval_s = 0.1;
  bench.scenario.cluster.lifecycle.autoscaler = o;
  bench.scenario.cluster.lifecycle.startup_s = 0.25;
  Watch watch;
  Observer* observers[] = {&watch};
  const RunOutcome outcome = bench.run(observers);
  CHECK(outcome.end == SimTime::from_seconds(1));
  // 20 of 5 at 0.1 s: three start; while they do, all four would be at 5.
  CHECK(outcome.pools.front().provisioned_s == Approx(1.0 + 3 * 0.9));
  CHECK(watch.provisioned_s == Approx(1.0 + 3 * 0.9));
  CHECK(watch.most == 4);
}

TEST_CASE("INV-1 INV-2 INV-3 INV-6: replicas that fail, start and are scaled under every scheduler",
          "[fidelity][fleet]") {
  for (const SchedulerEntry& entry : scheduler_table()) {
    INFO(std::string(entry.name));
    const BenchEngine bench = restless(std::string(entry.name), "outstanding", 20);
    Watch watch;
    Observer* observers[] = {&watch};
    RunOptions options;
    options.check_every_event = true;
    const RunOutcome outcome = simulate(bench.scenario, bench.blueprint, observers, options);
    CHECK(outcome.requests == 300);
    CHECK(watch.left.size() == 300);
    for (const auto& [id, times] : watch.left) CHECK(times == 1);
    CHECK(watch.retried > 0);
    CHECK(watch.refused == 0);  // no request is lost with a replica, or for want of one
    CHECK(watch.most >= 2);
    CHECK(outcome.failures >= 2);
    std::uint64_t steps = 0;
    for (const auto& [id, engine] : watch.engines) steps += engine.steps;
    CHECK(outcome.steps == steps);
    CHECK(watch.provisioned_s == Approx(outcome.pools.front().provisioned_s));
  }
}

TEST_CASE("INV-7 INV-8: fleets that change are the same skipping and stepping",
          "[fidelity][fleet][skip]") {
  struct Case {
    const char* metric;
    double target;
    const char* router;
  };
  for (const Case& c : {Case{"utilisation", 0.5, "least-outstanding"}, Case{"kv", 0.3, "least-kv"},
                        Case{"outstanding", 10, "power-of-two"}, Case{"queue", 2, "least-tokens"},
                        Case{"slo", 0.8, "round-robin"}}) {
    for (const char* scheduler : {"vllm-v1", "sglang", "static"}) {
      INFO(c.metric << ", " << scheduler);
      BenchEngine bench = restless(scheduler, c.metric, c.target);
      bench.workload().output_len = {.distribution = "uniform", .low = 1, .high = 300};
      bench.scenario.cluster.router = c.router;
      const auto run = [&](bool step_by_step, Watch& watch) {
        Observer* observers[] = {&watch};
        RunOptions options;
        options.step_by_step = step_by_step;
        return simulate(bench.scenario, bench.blueprint, observers, options);
      };
      Watch ahead, again, stepping;
      const RunOutcome a = run(false, ahead), b = run(false, again), s = run(true, stepping);
      CHECK(a.fingerprint == b.fingerprint);
      CHECK(a.fingerprint == s.fingerprint);
      CHECK(a.end == s.end);
      CHECK(a.steps == s.steps);
      CHECK(a.retries == s.retries);
      CHECK(a.steps_skipped > 0);
      CHECK(s.steps_skipped == 0);
      CHECK(a.pools.front().provisioned_s == s.pools.front().provisioned_s);
      CHECK(ahead.most > 1);
    }
  }
}

TEST_CASE("data-parallel ranks, in step and not, fail and come back as one", "[fidelity][fleet]") {
  for (const bool in_step : {false, true}) {
    BenchEngine bench = restless("vllm-v1", "outstanding", 20);
    bench.blueprint.data_parallel_size = 2;
    bench.blueprint.replica.in_step = in_step;
    Watch watch;
    Observer* observers[] = {&watch};
    RunOptions options;
    options.check_every_event = true;
    const RunOutcome outcome = simulate(bench.scenario, bench.blueprint, observers, options);
    CHECK(watch.left.size() == 300);
    CHECK(watch.retried > 0);
    CHECK(outcome.retries >= watch.retried);
  }
}

TEST_CASE("a pool that scales beside one that does not", "[fidelity][fleet]") {
  FleetBench fleet(busy_engine("vllm-v1"), {1, 1});
  fleet.scenario.cluster.router = "least-outstanding";
  fleet.scenario.cluster.pools[1].autoscaler = autoscaler("outstanding", 3);
  fleet.scenario.cluster.pools[1].startup_s = 0.2;
  Watch watch;
  Observer* observers[] = {&watch};
  const RunOutcome outcome = fleet.run(observers);
  CHECK(watch.left.size() == 300);
  REQUIRE(outcome.pools.size() == 2);
  CHECK(outcome.pools[0].provisioned_s == Approx(outcome.end.seconds()));
  CHECK(outcome.pools[1].provisioned_s > outcome.end.seconds());
  CHECK(outcome.pools[1].most == 4);
  CHECK(watch.provisioned_s ==
        Approx(outcome.pools[0].provisioned_s + outcome.pools[1].provisioned_s));
}
