// Replicas that are looked at rarely (sim/replica/replica_ahead.cpp). Steps take 1 ms, whatever is in
// them, so that all instants are known. That nothing else differs: tests/fidelity/skip_ahead_test.cpp.
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/replica/replica.h"
#include "tests/support/catch.h"
#include "tests/support/fixed_cost.h"

using namespace headway;

namespace {

SimTime ms(double t) { return SimTime::from_ms(t); }

struct Listener : Observer {
  std::map<std::uint64_t, RequestRecord> finished;
  std::vector<std::uint64_t> steps;  // in the order in which they were told
  int runs = 0;
  void on_step(const StepRecord& step) override { steps.push_back(step.step); }
  void on_decode_run(const DecodeRunRecord& run) override {
    ++runs;
    Observer::on_decode_run(run);
  }
  void on_finish(const RequestRecord& r) override { finished[r.id] = r; }
};

struct Rarely {
  explicit Rarely(bool async, std::int64_t blocks = 1000, bool seldom_seen = true) {
    SchedulerConfig c;
    c.engine.scheduler = "vllm-v1";
    c.engine.block_size = 4;
    c.engine.max_model_len = 4096;
    c.engine.enable_prefix_caching = false;
    c.engine.async_scheduling = async;
    c.batches_in_flight = async ? 2 : 1;
    c.gather_decodes = true;
    c.num_blocks = blocks + 1;
    const ReplicaConfig config{.max_model_len = 4096,
                               .batches_in_flight = c.batches_in_flight,
                               .skip_ahead = true,
                               .seldom_seen = seldom_seen};
    replica.emplace(config, make_scheduler(c), std::make_shared<FixedCost>(1000.0, 0.0, 0.0),
                    observers);
  }
  // Reaches the queue in the middle of whatever is going on.
  void submit(std::uint64_t id, std::int32_t output, SimTime now) {
    Request r;
    r.id = id;
    r.arrival = now;
    r.prompt_tokens = 8;
    r.output_tokens = output;
    replica->catch_up(now);
    replica->submit(std::move(r), now);
    if (replica->may_plan()) replica->start_steps(now);
  }
  // As the loop does it, to the end. How often it looked.
  int run() {
    int looks = 0;
    for (SimTime at = replica->look_at(); at != SimTime::never(); at = replica->look_at()) {
      ++looks;
      replica->advance(at);
      replica->take_departures(left);
      if (replica->may_plan()) replica->start_steps(at);
    }
    return looks;
  }
  Listener listener;
  Observer* observers[1] = {&listener};
  std::vector<Departure> left;
  std::optional<Replica> replica;
};

}  // namespace

TEST_CASE("replica ahead: nobody looks before the first can leave", "[unit]") {
  for (const bool async : {false, true}) {
    Rarely b(async);
    b.submit(1, 100, ms(0));
    CHECK(b.replica->look_at() <= ms(100));  // its prompt and 99 more tokens
    CHECK(b.replica->look_at() >= ms(97));   // the steps in flight may not be its
    b.submit(2, 30, ms(20.5));               // waits for the step that begins next
    const SimTime first_token = async ? ms(23) : ms(22);
    const SimTime leaves = first_token + ms(29);
    CHECK(b.replica->look_at() <= leaves);
    CHECK(b.replica->look_at() > ms(20.5 + 29 - 1));
    CHECK(b.run() <= 5);
    CHECK(b.listener.finished.at(1).finish == ms(100));
    CHECK(b.listener.finished.at(2).first_token == first_token);
    CHECK(b.listener.finished.at(2).finish == leaves);
    b.replica->check_drained();
  }
}

TEST_CASE("replica ahead: every step is told once, in order, and most of them in runs", "[unit]") {
  Rarely b(true);
  b.submit(1, 100, ms(0));
  b.submit(2, 30, ms(20.5));
  b.submit(3, 7, ms(40));
  b.run();
  CHECK(b.listener.steps.size() == b.replica->steps());
  for (std::size_t i = 0; i < b.listener.steps.size(); ++i) CHECK(b.listener.steps[i] == i);
  // One between two of the things that happen, and one more where it was not known how far to lay it out.
  CHECK(b.listener.runs >= 3);
  CHECK(b.listener.runs <= 8);
}

TEST_CASE("replica ahead: who is preempted meanwhile leaves later, and is not missed", "[unit]") {
  Rarely rarely(false, 40), often(false, 40, false);  // 160 tokens for three that grow to 108 each
  for (Rarely* b : {&rarely, &often}) {
    for (std::uint64_t id = 1; id <= 3; ++id) b->submit(id, 100, ms(0));
  }
  const int looks = rarely.run();
  CHECK(looks < often.run());
  REQUIRE(rarely.replica->preemptions() > 0);
  CHECK(rarely.replica->preemptions() == often.replica->preemptions());
  for (const auto& [id, r] : often.listener.finished) {
    CHECK(rarely.listener.finished.at(id).finish == r.finish);
    CHECK(rarely.listener.finished.at(id).preemptions == r.preemptions);
  }
  CHECK(rarely.replica->timeline() == often.replica->timeline());
}

TEST_CASE("replica ahead: a sequence that may outgrow the cache is watched step by step", "[unit]") {
  Rarely b(false, 8);  // 32 tokens
  b.submit(1, 100, ms(0));
  CHECK(b.replica->look_at() == b.replica->next_step_end());
  b.run();
  CHECK(b.listener.finished.at(1).failed);
  CHECK(b.listener.finished.at(1).finish == ms(25));  // 8 + 25 tokens do not fit
}
