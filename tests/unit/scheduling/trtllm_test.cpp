// trtllm by hand: what its recordings do not show. (tests/conformance replays those.)
#include <vector>

#include "sim/scheduling/trtllm_chunking.h"
#include "tests/support/catch.h"
#include "tests/unit/scheduling/driver.h"

using namespace headway;
using headway::testing::Driver;

namespace {

SchedulerConfig config(const std::string& capacity, std::int64_t num_blocks,
                       const std::string& chunking = "") {
  SchedulerConfig c;
  c.engine.scheduler = "trtllm";
  c.engine.capacity_scheduler_policy = capacity;
  c.engine.context_chunking_policy = chunking;
  c.engine.max_num_seqs = 8;
  c.engine.max_num_batched_tokens = 64;
  c.engine.max_model_len = 64;
  c.engine.block_size = 4;
  c.num_blocks = num_blocks;
  return c;
}

std::vector<std::int32_t> sizes(ContextChunking policy, const ChunkLimits& limits,
                                std::vector<ContextChunk> chunks) {
  size_chunks(policy, limits, chunks);
  std::vector<std::int32_t> out;
  for (const ContextChunk& chunk : chunks) out.push_back(chunk.size);
  return out;
}

using Sizes = std::vector<std::int32_t>;
constexpr std::int32_t kAny = 1000;

}  // namespace

TEST_CASE("First come first served cuts to the unit and lets a short prompt through", "[unit]") {
  const auto policy = ContextChunking::kFirstComeFirstServed;
  const std::vector<ContextChunk> prompts = {{.remaining = 30}, {.remaining = 9}, {.remaining = 3}};
  CHECK(sizes(policy, {20, kAny, 8}, prompts) == Sizes{16, 0, 3});
  CHECK(sizes(policy, {35, kAny, 8}, prompts) == Sizes{30, 0, 3});
  CHECK(sizes(policy, {7, kAny, 8}, prompts) == Sizes{0, 0, 3});
  CHECK(sizes(policy, {40, 10, 8}, prompts) == Sizes{8, 9, 3});  // no chunk above 10
}

TEST_CASE("Equal progress deals out unit after unit", "[unit]") {
  const auto policy = ContextChunking::kEqualProgress;
  const std::vector<ContextChunk> prompts = {{.remaining = 30}, {.remaining = 9}, {.remaining = 3}};
  // Round 1: 8, 8, 3. Round 2 has one token left: too little for a unit, enough for the 9th.
  CHECK(sizes(policy, {20, kAny, 8}, prompts) == Sizes{8, 9, 3});
  // Round 2: 8, 1; round 3 has 7 left of 35.
  CHECK(sizes(policy, {35, kAny, 8}, prompts) == Sizes{16, 9, 3});
  CHECK(sizes(policy, {100, 10, 8}, prompts) == Sizes{8, 9, 3});
}

TEST_CASE("Drafts stay in the last block of a prompt that completes", "[unit]") {
  const auto policy = ContextChunking::kFirstComeFirstServed;
  std::vector<ContextChunk> chunks = {{.remaining = 5, .drafts = 4},
                                      {.remaining = 8, .drafts = 4},
                                      {.remaining = 6, .drafts = 1},
                                      {.remaining = 20, .drafts = 2}};
  size_chunks(policy, {.capacity = 30, .longest = kAny, .unit = 8}, chunks);
  // 5 of 8: three fit. 8 fills its block. 6: its one. 11 tokens left for 20: cut to 8, no drafts.
  CHECK(chunks[0].drafts == 3);
  CHECK(chunks[1].drafts == 0);
  CHECK(chunks[3].size == 8);
  CHECK(chunks[3].drafts == 0);
  CHECK(chunks[2].drafts == 0);  // 30 - 27 = 3 left, and the first one took them
}

TEST_CASE("MAX_UTILIZATION lets the more urgent displace those under way, NO_EVICT does not",
          "[unit]") {
  SchedulerConfig c = config("MAX_UTILIZATION", 20);
  c.engine.max_num_seqs = 1;
  Driver d(c);
  d.arrive(4, 3, 0, 5);
  CHECK(d.step() == "A:p4");
  d.arrive(4, 1, 0, 2);  // smaller = more urgent
  CHECK(d.step() == "B:p4 | preempted A | done B");
  CHECK(d.step() == "A:p5");  // its first answer has become prompt
  CHECK(d.step() == "A:d1 | done A");

  c.engine.capacity_scheduler_policy = "GUARANTEED_NO_EVICT";
  Driver kept(c);
  kept.arrive(4, 3, 0, 5);
  CHECK(kept.step() == "A:p4");
  kept.arrive(4, 1, 0, 2);
  CHECK(kept.step() == "A:d1");
  CHECK(kept.step() == "A:d1 | done A");
  CHECK(kept.step() == "B:p4 | done B");
}

TEST_CASE("Drafts take tokens and blocks, rejected ones give them back", "[unit]") {
  SchedulerConfig c = config("MAX_UTILIZATION", 3);
  c.engine.max_num_batched_tokens = 6;
  Driver d(c);
  Sequence& a = d.arrive(4, 8);
  CHECK(d.step() == "A:p4");
  CHECK(d.scheduler().kv_usage().held_blocks == 1);
  a.draft_tokens = 3;
  CHECK(d.step() == "A:d4");  // none accepted: 5 of 8 tokens stay
  CHECK(d.scheduler().kv_usage().held_blocks == 2);
  CHECK(a.computed_tokens == 5);
  a.draft_tokens = 3;
  CHECK(d.step() == "A:d4");  // 9 tokens for a while: 3 blocks
  CHECK(d.scheduler().kv_usage().held_blocks == 2);
  CHECK(a.computed_tokens == 6);
  a.draft_tokens = 9;  // 5 answers to go; room for 4 drafts and the token behind them
  CHECK(d.step() == "A:d5");
  CHECK(a.output_tokens == 4);
}

TEST_CASE("With two micro-batches in flight, blocks for two steps are asked for", "[unit]") {
  SchedulerConfig c = config("MAX_UTILIZATION", 3);
  for (const std::int32_t batches : {1, 2}) {
    c.batches_in_flight = batches;
    Driver d(c);
    d.arrive(3, 6);
    d.arrive(3, 6);
    CHECK(d.step() == "A:p3 B:p3");
    // The 4th token has a place in the first block; the 5th needs another, and one is left.
    CHECK(d.step() == (batches == 1 ? "A:d1 B:d1" : "A:d1 | preempted B"));
  }
}

TEST_CASE("A request is part of one micro-batch at a time and is not paused in flight", "[unit]") {
  SchedulerConfig c = config("MAX_UTILIZATION", 3);
  c.batches_in_flight = 2;
  const auto scheduler = make_scheduler(c);
  Request request;
  std::vector<Sequence> s(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    s[i].request = &request;
    s[i].slot = i;
    s[i].order = i;
    s[i].prompt_tokens = 4;
    s[i].max_tokens = s[i].output_target = 4;
  }
  s[0].priority = 1;
  StepPlan first, second;
  StepUpdate update;
  scheduler->add(s[0]);
  scheduler->plan(SimTime(), first);
  REQUIRE(first.scheduled.size() == 1);
  scheduler->add(s[1]);  // more urgent
  scheduler->plan(SimTime(), second);
  REQUIRE(second.scheduled.size() == 1);
  CHECK(second.scheduled[0].sequence == &s[1]);

  scheduler->complete(first, {}, update);
  scheduler->plan(SimTime(), first);  // B asks for the last free block first; A finds none
  CHECK(first.empty());
  CHECK(first.preempted == std::vector<Sequence*>{&s[0]});
  scheduler->complete(second, {}, update);
  scheduler->plan(SimTime(), second);
  REQUIRE(second.scheduled.size() == 1);
  CHECK(second.scheduled[0].sequence == &s[1]);
}

TEST_CASE("What does not fit a resumed prompt is generated again in silence", "[unit]") {
  SchedulerConfig c = config("MAX_UTILIZATION", 4);
  c.engine.max_num_batched_tokens = 6;
  Driver d(c);
  d.arrive(4, 10);
  const Sequence& b = d.arrive(4, 10);
  CHECK(d.step() == "A:p4");  // 8 tokens are too many for a step
  CHECK(d.step() == "B:p4 A:d1");
  CHECK(d.step() == "A:d1 B:d1");
  CHECK(d.step() == "A:d1 B:d1");
  CHECK(d.step() == "A:d1 B:d1");
  CHECK(d.step() == "A:d1 | preempted B");  // A's 9th token needs a block; B has 4 answers
  for (int i = 0; i < 3; ++i) CHECK(d.step() == "A:d1");
  CHECK(d.step() == "A:d1 | done A");
  CHECK(d.step() == "B:p6");  // of 8 known tokens
  CHECK(b.output_tokens == 4);
  CHECK(d.step() == "B:d1");
  CHECK(b.output_tokens == 4);
  for (int i = 0; i < 5; ++i) CHECK(d.step() == "B:d1");
  CHECK(d.step() == "B:d1 | done B");
  CHECK(b.output_tokens == 10);
}

TEST_CASE("Half-computed prompts go on where the reserve would let nobody run", "[unit]") {
  SchedulerConfig c = config("GUARANTEED_NO_EVICT", 6, "FIRST_COME_FIRST_SERVED");
  c.engine.max_num_batched_tokens = 8;
  Driver d(c);
  d.arrive(16, 2, 0, 1);
  CHECK(d.step() == "A:p8");  // and holds 4 blocks
  d.arrive(8, 4);             // more urgent, wants 3
  CHECK(d.step() == "A:p8");
  CHECK(d.step() == "A:d1 | done A");
  CHECK(d.step() == "B:p8");
}

TEST_CASE("trtllm rejects what can never run, and refuses names it does not know", "[unit]") {
  SchedulerConfig c = config("GUARANTEED_NO_EVICT", 4);
  c.engine.max_num_batched_tokens = 10;
  Driver d(c);
  d.arrive(11, 1);
  d.arrive(10, 7);  // 17 tokens, 16 in the cache
  d.arrive(10, 6);
  CHECK(d.step() == "C:p10 | rejected A B");
  CHECK_THAT(d.plan().rejected[0].reason, ContainsSubstring("longer than 10"));
  CHECK_THAT(d.plan().rejected[1].reason, ContainsSubstring("cache of 4 blocks"));
  // On demand, the last token's place is never asked for: 16 tokens are stored.
  Driver demand(config("MAX_UTILIZATION", 4));
  demand.arrive(10, 7);
  CHECK(demand.step() == "A:p10");

  c.engine.capacity_scheduler_policy = "MAX_UTILISATION";
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("did you mean MAX_UTILIZATION?"));
  c.engine.capacity_scheduler_policy = "STATIC_BATCH";
  c.engine.context_chunking_policy = "EQUAL";
  CHECK_THROWS_AS(make_scheduler(c), InputError);
  c.engine.context_chunking_policy = "";
  c.engine.kv_allocator = "reserve-max";
  CHECK_THROWS_AS(make_scheduler(c), InputError);
}
