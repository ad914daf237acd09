#include "sim/replica/replica.h"

#include <map>

#include "tests/support/catch.h"
#include "tests/support/fixed_cost.h"

using namespace headway;

namespace {

struct Records : Observer {
  std::map<std::uint64_t, RequestRecord> finished;
  std::int64_t recomputed_tokens = 0;
  void on_step(const StepRecord& step) override { recomputed_tokens += step.recomputed_tokens; }
  void on_finish(const RequestRecord& r) override { finished[r.id] = r; }
};

// One replica with steps of 1 ms, driven to the end of everything that was submitted.
struct Bench {
  Records records;
  Observer* observers[1] = {&records};
  Replica replica;
  SimTime now;

  explicit Bench(const SchedulerConfig& config)
      : replica({.max_model_len = config.engine.max_model_len,
                 .batches_in_flight = config.batches_in_flight},
                make_scheduler(config), std::make_shared<FixedCost>(1000.0, 0.0, 0.0), observers) {}

  void submit(std::uint64_t id, std::int32_t prompt, std::int32_t output, std::int32_t max_tokens,
              std::int32_t priority = 0) {
    Request r;
    r.id = id;
    r.arrival = now;
    r.prompt_tokens = prompt;
    r.output_tokens = output;
    r.max_tokens = max_tokens;
    r.priority = priority;
    replica.submit(std::move(r), now);
  }
  void start() { replica.start_steps(now); }
  void end_step() {
    now = replica.next_step_end();
    replica.end_step(now);
  }
  void run() {
    for (start(); !replica.idle(); start()) end_step();
  }
};

SchedulerConfig config(std::int64_t usable_blocks) {
  SchedulerConfig c;
  c.engine.scheduler = "vllm-v1";
  c.engine.block_size = 4;
  c.engine.max_model_len = 64;
  c.engine.enable_prefix_caching = false;
  c.engine.async_scheduling = false;
  c.num_blocks = usable_blocks + 1;
  return c;
}

}  // namespace

TEST_CASE("a place is not given away while a step in flight still names it", "[unit][replica]") {
  SchedulerConfig c = config(32);
  c.engine.async_scheduling = true;
  c.batches_in_flight = 2;
  Bench bench(c);
  bench.submit(0, 4, 2, 20);  // ends at 2 of 20 tokens: the engine cannot know, and plans a third
  bench.start();
  bench.end_step();
  bench.start();
  bench.end_step();
  REQUIRE(bench.records.finished.count(0) == 1);
  REQUIRE_FALSE(bench.replica.idle());
  bench.submit(1, 4, 3, 3);
  bench.run();
  const RequestRecord& second = bench.records.finished.at(1);
  REQUIRE(second.output_tokens == 3);
  // Sent at 2 ms, planned then behind the wasted step (2 to 3 ms), prefilled from 3 to 4 ms.
  REQUIRE(second.first_token == SimTime::from_ms(4));
  REQUIRE(second.finish == SimTime::from_ms(6));
}

TEST_CASE("a step that only made room takes no time", "[unit][replica]") {
  SchedulerConfig c = config(4);
  c.engine.policy = "priority";
  Bench bench(c);
  bench.submit(0, 4, 8, 8, 5);
  bench.start();
  bench.end_step();
  bench.submit(1, 5, 6, 6, 0);
  bench.run();
  // After five steps both have 8 tokens in two blocks each. The less urgent one stands first, needs
  // a third block and is itself the victim, so that plan is empty; the other goes on at once.
  REQUIRE(bench.records.finished.at(0).preemptions == 1);
  REQUIRE(bench.records.finished.at(1).finish == SimTime::from_ms(7));
  REQUIRE(bench.records.finished.at(0).output_tokens == 8);
  // It lost the KV of 8 tokens; the ninth had been sampled but never computed.
  REQUIRE(bench.records.recomputed_tokens == 8);
}
