// llamacpp by hand.
#include "sim/scheduling/llamacpp.h"
#include "tests/support/catch.h"
#include "tests/unit/scheduling/driver.h"

using namespace headway;
using headway::testing::Driver;

namespace {

// Two slots of 200 tokens.
SchedulerConfig config(std::int32_t n_batch = 64) {
  SchedulerConfig c;
  c.engine.scheduler = "llamacpp";
  c.engine.n_parallel = 2;
  c.engine.n_batch = n_batch;
  c.engine.max_model_len = 1000;
  c.engine.block_size = 4;
  c.num_blocks = 100;
  return c;
}

std::int32_t slot_of(Driver& d, const Sequence& s) {
  return dynamic_cast<LlamaCpp&>(d.scheduler()).slot_of(s);
}

}  // namespace

TEST_CASE("Prompts share the batch in slot order, the first hogs it", "[unit]") {
  for (const bool together : {true, false}) {
    Driver d(config(16));
    d.arrive(20, 2);
    if (together) d.arrive(10, 2);
    CHECK(d.step() == "A:p16");
    if (!together) d.arrive(10, 2);
    CHECK(d.step() == "A:p4 B:p10");
    CHECK(d.step() == "A:d1 B:d1 | done A B");
  }
  Driver d(config(16));
  d.arrive(5, 9);
  CHECK(d.step() == "A:p5");
  d.arrive(40, 2);
  CHECK(d.step() == "A:d1 B:p15");
  CHECK(d.step() == "A:d1 B:p15");
  CHECK(d.step() == "A:d1 B:p10");
  CHECK(d.step() == "A:d1 B:d1 | done B");
}

TEST_CASE("A batch runs in pieces of n_ubatch; its tokens come with the last", "[unit]") {
  SchedulerConfig c = config(16);
  c.engine.n_ubatch = 6;
  Driver d(c);
  const Sequence& a = d.arrive(5, 3);
  CHECK(d.step() == "A:p5");
  CHECK(a.output_tokens == 1);
  const Sequence& b = d.arrive(14, 1);
  CHECK(d.step() == "A:d1 B:p5");
  CHECK(a.output_tokens == 1);
  d.arrive(3, 1);  // too late for this batch
  CHECK(d.step() == "B:p6");
  CHECK(a.output_tokens == 1);
  CHECK(d.step() == "B:p3 | done B");
  CHECK(a.output_tokens == 2);
  CHECK(b.output_tokens == 1);
  CHECK(d.step() == "A:d1 C:p3 | done A C");
}

TEST_CASE("A batch that an abort cuts short gives its tokens with the next", "[unit]") {
  SchedulerConfig c = config(16);
  c.engine.n_ubatch = 6;
  Driver d(c);
  const Sequence& a = d.arrive(5, 4);
  CHECK(d.step() == "A:p5");
  Sequence& b = d.arrive(14, 1);
  CHECK(d.step() == "A:d1 B:p5");
  d.scheduler().abort(b);
  CHECK(a.output_tokens == 1);
  CHECK(d.step() == "A:d1");
  CHECK(a.output_tokens == 3);
  CHECK(d.step() == "A:d1 | done A");
}

TEST_CASE("A conversation finds its slot again; what is too little alike takes the oldest",
          "[unit]") {
  for (const std::int32_t prompt : {20, 119, 120}) {
    Driver d(config(200));
    d.next_session(7);
    const Sequence& a = d.arrive(10, 3);
    const Sequence& b = d.arrive(10, 1);
    CHECK(d.step() == "A:p10 B:p10 | done B");  // slot 1 is idle first
    d.step();
    CHECK(d.step() == "A:d1 | done A");
    CHECK(slot_of(d, a) == -1);
    CHECK(slot_of(d, b) == -1);
    d.next_session(7);
    const Sequence& c = d.arrive(prompt, 2);  // begins with A's 10 tokens and its answers
    // Slot 0 holds 12 of them: the last answer was never fed back. More than a tenth of 119.
    const bool similar = prompt < 120;
    CHECK(d.step() == "C:p" + std::to_string(similar ? prompt - 12 : prompt));
    CHECK(slot_of(d, c) == (similar ? 0 : 1));
    CHECK(c.cached_tokens == (similar ? 12 : 0));
  }
}

TEST_CASE("Of a prompt known to the last token, the last is computed again", "[unit]") {
  for (const bool reuse : {true, false}) {
    SchedulerConfig c = config();
    c.engine.enable_prefix_caching = reuse;
    Driver d(c);
    d.next_session(1);
    d.arrive(10, 2);
    d.step();
    d.step();
    d.next_session(1);
    d.arrive(10, 1);
    CHECK(d.step() == (reuse ? "B:p1 | done B" : "B:p10 | done B"));
    CHECK(d.scheduler().kv_usage().prefix_hits == (reuse ? 9U : 0U));
    CHECK(d.scheduler().kv_usage().held_blocks == 0);
    CHECK(d.scheduler().kv_usage().cached_blocks == (reuse ? 3 : 0));
  }
}

TEST_CASE("Requests wait for a slot in order of arrival", "[unit]") {
  Driver d(config());
  d.arrive(4, 3);
  d.arrive(4, 1);
  d.arrive(30, 1);
  d.arrive(2, 1);
  CHECK(d.step() == "A:p4 B:p4 | done B");
  CHECK(d.step() == "A:d1 C:p30 | done C");
  CHECK(d.step() == "A:d1 D:p2 | done A D");
}

TEST_CASE("A slot's context bounds prompt and answer", "[unit]") {
  SchedulerConfig c = config();
  c.num_blocks = 9;  // 4 a slot: 16 tokens; one block is no slot's
  Driver d(c);
  d.arrive(16, 1);
  const Sequence& b = d.arrive(12, 10);
  CHECK(d.step() == "B:p12 | rejected A");
  CHECK_THAT(d.plan().rejected[0].reason, ContainsSubstring("16 tokens that each of 2 slots"));
  const KvUsage usage = d.scheduler().kv_usage();
  CHECK(usage.held_blocks == 4);  // the whole slot, whatever it stores
  CHECK(usage.tokens_stored == 12);
  CHECK(usage.tokens_reserved_later == 3);
  CHECK(usage.tokens_never_used == 1);
  d.step();
  d.step();
  CHECK(d.step() == "B:d1 | done B");
  CHECK(b.output_tokens == 4);
  CHECK(b.finish_reason == FinishReason::kLength);

  c.engine.kv_allocator = "reserve-max";
  CHECK_THROWS_AS(make_scheduler(c), InputError);
}

TEST_CASE("Drafts ride in the batch and are verified in one piece", "[unit]") {
  SchedulerConfig c = config(16);
  c.engine.n_ubatch = 4;
  Driver d(c);
  Sequence& a = d.arrive(4, 9);
  Sequence& b = d.arrive(3, 9);
  CHECK(d.step() == "A:p4");
  CHECK(d.step() == "B:p3");
  a.draft_tokens = 1;
  b.draft_tokens = 8;  // a piece takes 3 and the token before them
  CHECK(d.step() == "A:d2");
  CHECK(d.step() == "B:d4");
  CHECK(a.computed_tokens == 5);  // none accepted
  CHECK(b.computed_tokens == 4);
}
