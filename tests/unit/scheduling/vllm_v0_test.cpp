// vLLM V0 beyond its recordings (tests/conformance), on cases worked by hand.
#include "tests/support/catch.h"
#include "tests/unit/scheduling/driver.h"

using namespace headway;
using headway::testing::Driver;

namespace {

SchedulerConfig config(std::int64_t blocks, std::int64_t host_blocks = 0) {
  SchedulerConfig result;
  EngineOptions& engine = result.engine;
  engine.scheduler = "vllm-v0";
  engine.max_num_seqs = 8;
  engine.max_model_len = engine.max_num_batched_tokens = 64;
  engine.block_size = 4;
  engine.enable_prefix_caching = engine.enable_chunked_prefill = false;
  result.num_blocks = blocks;
  result.num_cpu_blocks = host_blocks;
  return result;
}

}  // namespace

TEST_CASE("vllm-v0 swaps a victim out and back, and recomputes where the host is full", "[unit]") {
  // Two prompts of two blocks in a cache of four: growing wants a free block, so the younger
  // yields.
  SchedulerConfig c = config(4, GENERATE(0, 4));
  c.engine.preemption_mode = "swap";
  Driver d(c);
  d.arrive(7, 3);
  d.arrive(7, 3);
  CHECK(d.step() == "A:p7 B:p7");
  CHECK(d.step() == "A:d1 | preempted B");
  CHECK(d.plan().swapped_out_blocks == (c.num_cpu_blocks > 0 ? 2 : 0));
  if (c.num_cpu_blocks > 0) {
    // B stores a full block and three tokens, so it wants two blocks; A takes one of the two.
    CHECK(d.step() == "A:d1 | done A");
    CHECK(d.step() == "B:d1");
    CHECK(d.plan().swapped_in_blocks == 2);
    CHECK(d.step() == "B:d1 | done B");
  } else {
    CHECK(d.step() == "B:p8");  // prefill first: its eight tokens fit the two free blocks
    CHECK(d.step() == "A:d1 | preempted B | done A");
    CHECK(d.step() == "B:p9 | done B");
  }
}

TEST_CASE("vllm-v0 prefers an urgent waiting request to less urgent running ones", "[unit]") {
  SchedulerConfig c = config(6);
  c.engine.policy = "priority";
  Driver d(c);
  d.arrive(10, 4).priority = 5;
  d.arrive(4, 4).priority = 3;
  CHECK(d.step() == "A:p10 B:p4");  // 3 + 1 blocks
  d.arrive(12, 1).priority = 0;     // needs three, two are free
  CHECK(d.step() == "B:d1 | preempted A");
  CHECK(d.step() == "C:p12 | done C");
  CHECK(d.step() == "A:p11");
}

TEST_CASE("vllm-v0 chunked: a prompt that owns the whole cache goes on", "[unit]") {
  SchedulerConfig c = config(2);
  c.engine.enable_chunked_prefill = true;
  c.engine.max_num_batched_tokens = 3;
  Driver d(c);
  d.arrive(8, 1);
  CHECK(d.step() == "A:p3");
  CHECK(d.step() == "A:p3");  // no block is free, and vLLM V0 would start it over, for ever
  CHECK(d.step() == "A:p2 | done A");
}

TEST_CASE("vllm-v0 refuses what it has not", "[unit]") {
  SchedulerConfig c = config(8);
  c.num_speculative_tokens = 2;
  c.speculation = "ngram";
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("does not speculate"));
  c = config(8);
  c.batches_in_flight = 2;
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("one step in flight"));
  c = config(8);
  c.engine.enable_chunked_prefill = c.engine.enable_prefix_caching = true;
  c.engine.max_num_batched_tokens = 3;
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("at least 4"));
}
