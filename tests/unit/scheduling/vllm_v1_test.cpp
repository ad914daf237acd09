// Rules that the recorded schedules (tests/conformance) do not reach, and a few by hand.
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/scheduling/driver.h"

using namespace headway;
using headway::testing::Driver;

namespace {

SchedulerConfig config(std::int64_t usable_blocks, std::int32_t block_size, std::int32_t budget) {
  SchedulerConfig c;
  c.engine.scheduler = "vllm-v1";
  c.engine.block_size = block_size;
  c.engine.max_num_batched_tokens = budget;
  c.engine.max_num_seqs = 16;
  c.engine.max_model_len = 128;
  c.engine.enable_prefix_caching = false;
  c.engine.async_scheduling = false;
  c.num_blocks = usable_blocks + 1;
  return c;
}

}  // namespace

TEST_CASE("vllm-v1: an older prefill goes before a younger decode", "[unit][scheduling]") {
  Driver d(config(64, 16, 32));
  d.arrive(70, 4);
  d.arrive(20, 4);
  REQUIRE(d.step() == "A:p32");
  d.arrive(10, 3);
  REQUIRE(d.step() == "A:p32");
  REQUIRE(d.step() == "A:p6 B:p20 C:p6");
  REQUIRE(d.step() == "A:d1 B:d1 C:p4");
  REQUIRE(d.step() == "A:d1 B:d1 C:d1");
  REQUIRE(d.step() == "A:d1 B:d1 C:d1 | done A B C");
}

TEST_CASE("vllm-v1: a victim recomputes prompt and answer, and its step admits nobody",
          "[unit][scheduling]") {
  // Eight blocks of four: A holds 3, B 3, C 2. In step 3 A needs a fourth, so C gives up its two.
  Driver d(config(8, 4, 64));
  d.arrive(10, 8);
  d.arrive(9, 8);
  d.arrive(5, 6);
  REQUIRE(d.step() == "A:p10 B:p9 C:p5");
  REQUIRE(d.step() == "A:d1 B:d1 C:d1");
  REQUIRE(d.step() == "A:d1 B:d1 C:d1");
  REQUIRE(d.step() == "A:d1 B:d1 | preempted C");
  REQUIRE(d.scheduler().waiting() == 1);
  REQUIRE(d.step() == "A:d1 B:d1");
  REQUIRE(d.step() == "A:d1 B:d1");
  REQUIRE(d.step() == "A:d1 B:d1");
  REQUIRE(d.step() == "A:d1 | preempted B | done A");
  REQUIRE(d.step() == "B:p16 C:p8 | done B");
  REQUIRE(d.plan().scheduled[0].kind == ScheduledKind::kResumed);
}

TEST_CASE("vllm-v1: the head of the queue waits and nobody overtakes it", "[unit][scheduling]") {
  Driver d(config(8, 4, 64));
  d.arrive(16, 3);
  d.step();
  d.arrive(20, 2);  // five blocks; three are left after A's next token
  d.arrive(3, 2);
  REQUIRE(d.step() == "A:d1");
  REQUIRE(d.scheduler().waiting() == 2);
}

TEST_CASE("vllm-v1: what can never run is rejected with the reason (INV-6)", "[unit][scheduling]") {
  Driver d(config(8, 4, 64));
  d.arrive(200, 2);
  REQUIRE(d.step() == "| rejected A");
  REQUIRE_THAT(d.plan().rejected[0].reason, ContainsSubstring("max_model_len = 128"));
  d.arrive(40, 2);
  REQUIRE(d.step() == "| rejected B");
  REQUIRE_THAT(d.plan().rejected[0].reason,
               ContainsSubstring("40 tokens need 10 KV blocks; the cache has 8"));
  // Its answer outgrows the whole cache: 30 + 3 tokens need a ninth block.
  d.arrive(30, 9);
  REQUIRE(d.step() == "C:p30");
  REQUIRE(d.step() == "C:d1");
  REQUIRE(d.step() == "C:d1");
  REQUIRE(d.step() == "| rejected C");
  REQUIRE(d.scheduler().kv_usage().held_blocks == 0);
}

TEST_CASE("vllm-v1: without chunked prefill a prompt larger than a step is rejected",
          "[unit][scheduling]") {
  SchedulerConfig c = config(64, 4, 32);
  c.engine.enable_chunked_prefill = false;
  Driver d(c);
  d.arrive(20, 2);
  d.arrive(20, 2);
  d.arrive(33, 2);
  REQUIRE(d.step() == "A:p20");
  REQUIRE(d.step() == "A:d1 B:p20 | rejected C | done A");
}

TEST_CASE("vllm-v1: an end that the engine cannot foresee is a stop", "[unit][scheduling]") {
  Driver d(config(8, 4, 64));
  Sequence& a = d.arrive(4, 2);
  a.max_tokens = 9;
  d.step();
  REQUIRE(d.step() == "A:d1 | done A");
  REQUIRE(a.finish_reason == FinishReason::kStop);
  Sequence& b = d.arrive(8, 1);
  REQUIRE(d.step() == "B:p8 | done B");
  REQUIRE(b.finish_reason == FinishReason::kLength);
}

TEST_CASE("vllm-v1: asynchronous scheduling wastes one step on an unforeseen end",
          "[unit][scheduling]") {
  SchedulerConfig c = config(8, 4, 64);
  c.engine.async_scheduling = true;
  c.batches_in_flight = 2;
  const auto scheduler = make_scheduler(c);
  Request request;
  request.prompt_tokens = 4;
  Sequence a{.request = &request, .prompt_tokens = 4, .max_tokens = 9, .output_target = 2};
  scheduler->add(a);
  StepPlan plans[4];
  StepUpdate update;
  scheduler->plan({}, plans[0]);
  scheduler->plan({}, plans[1]);
  scheduler->complete(plans[0], {}, update);
  REQUIRE(a.output_tokens == 1);
  scheduler->plan({}, plans[2]);
  REQUIRE(plans[2].scheduled.size() == 1);  // the second token is not known yet
  scheduler->complete(plans[1], {}, update);
  REQUIRE(a.finish_reason == FinishReason::kStop);
  scheduler->complete(plans[2], {}, update);
  REQUIRE(update.emitted.empty());
  REQUIRE(a.output_tokens == 2);
  scheduler->plan({}, plans[3]);
  REQUIRE(plans[3].empty());
}

TEST_CASE("vllm-v1: drafts cost budget and slots, and roll back when rejected",
          "[unit][scheduling]") {
  SchedulerConfig c = config(16, 4, 8);
  c.speculation = "ngram";
  c.num_speculative_tokens = 3;
  const auto scheduler = make_scheduler(c);
  Request request;
  request.prompt_tokens = 7;
  Sequence a{.request = &request, .prompt_tokens = 7, .max_tokens = 9, .output_target = 9};
  scheduler->add(a);
  StepPlan plan;
  StepUpdate update;
  scheduler->plan({}, plan);
  scheduler->complete(plan, {}, update);
  REQUIRE(a.takes_drafts());
  a.draft_tokens = 3;
  scheduler->plan({}, plan);
  REQUIRE(plan.scheduled[0].num_tokens == 4);
  REQUIRE(plan.scheduled[0].draft_tokens == 3);
  REQUIRE_FALSE(plan.scheduled[0].prefill);
  REQUIRE(a.computed_tokens == 11);
  scheduler->complete(plan, {.accepted_drafts = {1}}, update);
  REQUIRE(update.emitted[0].tokens == 2);
  REQUIRE(a.computed_tokens == 9);
  REQUIRE(a.known_tokens() == 10);
  REQUIRE(scheduler->kv_usage().tokens_stored == 9);
  REQUIRE(scheduler->kv_usage().held_blocks == 3);
  scheduler->check_kv();
}

TEST_CASE("vllm-v1: an aborted sequence leaves at once, whatever is in flight",
          "[unit][scheduling]") {
  Driver d(config(8, 4, 64));
  Sequence& a = d.arrive(8, 4);
  Sequence& b = d.arrive(28, 4);  // waits: seven blocks, six are free
  d.step();
  d.scheduler().abort(b);
  REQUIRE(d.scheduler().waiting() == 0);
  StepPlan plan;
  d.scheduler().plan(d.now(), plan);
  d.scheduler().abort(a);
  REQUIRE(d.scheduler().kv_usage().held_blocks == 0);
  StepUpdate update;
  d.scheduler().complete(plan, {}, update);
  REQUIRE(update.emitted.empty());
  REQUIRE(a.finish_reason == FinishReason::kAborted);
}

TEST_CASE("vllm-v1 refuses settings of other engines", "[unit][scheduling]") {
  SchedulerConfig c = config(8, 4, 64);
  c.engine.policy = "lpm";
  REQUIRE_THROWS_WITH(make_scheduler(c), ContainsSubstring("fcfs"));
  c.engine.policy = "fcfs";
  c.engine.kv_allocator = "reserve-max";
  REQUIRE_THROWS_WITH(make_scheduler(c), ContainsSubstring("paged"));
}
