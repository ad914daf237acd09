#include "sim/cluster/rank_group.h"

#include <map>

#include "tests/support/catch.h"
#include "tests/support/fixed_cost.h"

using namespace headway;

namespace {

struct Records : Observer {
  std::vector<StepRecord> steps;
  std::map<std::uint64_t, RequestRecord> finished;
  void on_step(const StepRecord& step) override { steps.push_back(step); }
  void on_finish(const RequestRecord& r) override { finished[r.id] = r; }
};

// Ranks whose steps take 1 ms, and 10 us a prompt token, and 100 us a decode.
struct Bench {
  Records records;
  Observer* observers[1] = {&records};
  RankGroup group;
  SimTime now;

  explicit Bench(std::size_t ranks) : group(make(ranks), cost()) {}

  static std::shared_ptr<const CostModel> cost() {
    static const auto model = std::make_shared<FixedCost>(1000.0, 10.0, 100.0);
    return model;
  }
  std::vector<std::unique_ptr<Replica>> make(std::size_t ranks) {
    SchedulerConfig c;
    c.engine.scheduler = "vllm-v1";
    c.engine.max_model_len = 1024;
    c.engine.async_scheduling = false;
    c.num_blocks = 1000;
    std::vector<std::unique_ptr<Replica>> out;
    for (std::size_t i = 0; i < ranks; ++i) {
      ReplicaConfig config;
      config.id = static_cast<std::uint32_t>(i);
      config.max_model_len = 1024;
      config.in_step = true;
      out.push_back(std::make_unique<Replica>(config, make_scheduler(c), cost(), observers));
    }
    return out;
  }
  void submit(std::size_t rank, std::uint64_t id, std::int32_t prompt, std::int32_t output) {
    Request r;
    r.id = id;
    r.arrival = now;
    r.prompt_tokens = prompt;
    r.output_tokens = r.max_tokens = output;
    group.submit(rank, std::move(r), now);
  }
  void end_step() {
    now = group.next_step_end();
    group.advance(now);
    group.start_steps(now);
  }
};

}  // namespace

TEST_CASE("ranks begin and end their steps together; the slowest sets the time", "[unit][cluster]") {
  Bench b(2);
  b.submit(0, 0, 100, 2);  // 1 + 1 ms
  b.submit(1, 1, 300, 1);  // 1 + 3 ms
  b.group.start_steps(b.now);
  CHECK(b.group.next_step_end() == SimTime::from_ms(4));
  b.end_step();
  CHECK(b.group.next_step_end() == SimTime::from_us(5100));  // rank 0 decodes; rank 1 has nothing
  b.end_step();
  CHECK(b.group.next_step_end() == SimTime::never());
  CHECK(b.group.dummy_steps() == 1);
  REQUIRE(b.records.steps.size() == 3);
  for (std::size_t i = 0; i < 2; ++i) CHECK(b.records.steps[i].duration == SimTime::from_ms(4));
  // Rank 0 waited 2 of its 4 ms at the collectives.
  const auto communication = static_cast<std::size_t>(OpClass::kCommunication);
  CHECK(b.records.steps[0].by_class_us[communication] == Approx(2000));
  CHECK(b.records.steps[1].by_class_us[communication] == Approx(0).margin(1e-9));
}

TEST_CASE("a request finds an idle rank when the step that the others are in has ended",
          "[unit][cluster]") {
  Bench b(2);
  b.submit(0, 0, 100, 3);
  b.group.start_steps(b.now);
  b.now = SimTime::from_us(500);
  b.submit(1, 1, 200, 1);
  CHECK_FALSE(b.group.may_plan());
  b.end_step();                                             // at 2 ms
  CHECK(b.group.next_step_end() == SimTime::from_ms(5));    // max(1 + 0.1, 1 + 2) ms
  b.end_step();
  REQUIRE(b.records.finished.count(1) == 1);
  const RequestRecord& r = b.records.finished[1];
  CHECK(r.scheduled == SimTime::from_ms(2));
  CHECK(r.finish == SimTime::from_ms(5));
  // Rank 0's decode took 3 ms: 1.1 of decoding, the rest another rank's prefill.
  b.end_step();
  const auto& split = b.records.finished[0].split;
  CHECK(split[static_cast<std::size_t>(LatencyPart::kInterference)] == SimTime::from_us(1900));
  CHECK(split[static_cast<std::size_t>(LatencyPart::kDecode)] == SimTime::from_us(2200));
}

TEST_CASE("one replica alone is passed through", "[unit][cluster]") {
  Bench b(1);
  CHECK(b.group.may_plan());
  CHECK(b.group.next_step_end() == SimTime::never());
  CHECK(b.group.dummy_steps() == 0);
}
