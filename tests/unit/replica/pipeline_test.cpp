#include "sim/replica/replica.h"
#include "tests/support/catch.h"
#include "tests/support/fixed_cost.h"

using namespace headway;

namespace {

struct Ends : Observer {
  std::vector<StepRecord> steps;
  void on_step(const StepRecord& step) override { steps.push_back(step); }
};

void submit(Replica& replica, std::uint64_t requests, std::int32_t output_tokens) {
  for (std::uint64_t id = 0; id < requests; ++id) {
    Request r;
    r.id = id;
    r.prompt_tokens = 8;
    r.output_tokens = r.max_tokens = output_tokens;
    replica.submit(std::move(r), SimTime());
  }
}

// Two stages, steps of 1 ms, and two prompts that need a batch each.
std::vector<StepRecord> two_batches(double slowest_stage) {
  SchedulerConfig c;
  c.engine.scheduler = "vllm-v1";
  c.engine.max_model_len = 64;
  c.engine.max_num_seqs = 8;
  c.engine.max_num_batched_tokens = 8;
  c.engine.async_scheduling = false;
  c.num_blocks = 100;
  c.pipeline_parallel_size = c.batches_in_flight = 2;
  ReplicaConfig config;
  config.max_model_len = 64;
  config.pipeline_parallel_size = config.batches_in_flight = 2;
  config.slowest_stage = slowest_stage;
  Ends ends;
  Observer* observers[] = {&ends};
  Replica replica(config, make_scheduler(c), std::make_shared<FixedCost>(1000.0, 0.0, 0.0), observers);
  submit(replica, 2, 1);
  replica.start_steps(SimTime());
  while (replica.next_step_end() != SimTime::never()) {
    const SimTime now = replica.next_step_end();
    replica.end_step(now);
    replica.start_steps(now);
  }
  return ends.steps;
}

}  // namespace

TEST_CASE("a pipeline's next batch begins when the slowest stage is free", "[unit][replica][parallel]") {
  const auto even = two_batches(0);
  REQUIRE(even.size() == 2);
  CHECK(even[1].start == SimTime::from_us(500));
  CHECK(even[1].start + even[1].duration == SimTime::from_us(1500));
  // 5 layers on two stages: 3 and 2.
  const auto uneven = two_batches(3.0 / 5);
  CHECK(uneven[0].start + uneven[0].duration == SimTime::from_us(1000));
  CHECK(uneven[1].start == SimTime::from_us(600));
  CHECK(uneven[1].start + uneven[1].duration == SimTime::from_us(1600));
}

TEST_CASE("the host's time for an admission is spent once a request", "[unit][replica]") {
  SchedulerConfig c;
  c.engine.scheduler = "vllm-v1";
  c.engine.max_model_len = 64;
  c.engine.async_scheduling = false;
  c.num_blocks = 100;
  ReplicaConfig config;
  config.max_model_len = 64;
  config.host.per_admission = SimTime::from_us(70);
  Ends ends;
  Observer* observers[] = {&ends};
  Replica replica(config, make_scheduler(c), std::make_shared<FixedCost>(1000.0, 0.0, 0.0), observers);
  submit(replica, 3, 2);
  replica.start_steps(SimTime());
  replica.end_step(replica.next_step_end());
  replica.start_steps(SimTime::from_us(1210));
  replica.end_step(replica.next_step_end());
  REQUIRE(ends.steps.size() == 2);
  CHECK(ends.steps[0].duration == SimTime::from_us(1210));
  CHECK(ends.steps[1].duration == SimTime::from_us(1000));
}
