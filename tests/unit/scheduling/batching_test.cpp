// The policies without prefix sharing, each on a case small enough to work out by hand.
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/scheduling/driver.h"

using namespace headway;
using headway::testing::Driver;

namespace {

SchedulerConfig config(const std::string& scheduler, std::int64_t blocks = 64) {
  SchedulerConfig result;
  result.engine.scheduler = scheduler;
  result.engine.max_num_seqs = 8;
  result.engine.max_model_len = 64;
  result.engine.block_size = 4;
  result.engine.max_num_batched_tokens = 64;
  result.num_blocks = blocks;
  return result;
}

}  // namespace

TEST_CASE("static waits for a full batch, then for nobody until its slowest member ends",
          "[unit]") {
  SchedulerConfig c = config("static");
  c.engine.batch_size = 2;
  Driver d(c);
  d.arrive(10, 3);
  CHECK(d.step().empty());
  CHECK(d.plan().wake_at == SimTime::from_seconds(1));  // batch_timeout_ms defaults to 1000
  d.wait_until(SimTime::from_seconds(0.5));
  d.arrive(20, 1);
  d.arrive(5, 1);
  CHECK(d.step() == "A:p10 B:p20 | done B");
  CHECK(d.step() == "A:d1");
  CHECK(d.step() == "A:d1 | done A");
  CHECK(d.step() == "C:p5 | done C");  // its timeout passed meanwhile
}

TEST_CASE("static starts an unfilled batch when the oldest has waited long enough", "[unit]") {
  SchedulerConfig c = config("static");
  c.engine.batch_timeout_ms = 2500;
  Driver d(c);
  d.arrive(10, 1);
  CHECK(d.step().empty());
  CHECK(d.plan().wake_at == SimTime::from_ms(2500));
  d.wait_until(d.plan().wake_at);
  CHECK(d.step() == "A:p10 | done A");
}

TEST_CASE("static asks for no bigger batch than the KV can reserve for", "[unit]") {
  Driver d(config("static", 33));  // 16 blocks a reservation: two at once
  d.arrive(10, 1);
  d.arrive(10, 1);
  CHECK(d.step() == "A:p10 B:p10 | done A B");
}

TEST_CASE("release_at_batch_end holds the KV of an ended member", "[unit]") {
  SchedulerConfig c = config("static", 33);
  c.engine.release_at_batch_end = GENERATE(false, true);
  Driver d(c);
  d.arrive(10, 2);
  d.arrive(10, 1);
  CHECK(d.step() == "A:p10 B:p10 | done B");
  CHECK(d.scheduler().kv_usage().held_blocks == (c.engine.release_at_batch_end ? 32 : 16));
  CHECK(d.scheduler().running() == 1);
  CHECK(d.step() == "A:d1 | done A");
  CHECK(d.scheduler().kv_usage().held_blocks == 0);
}

TEST_CASE("orca lets a prompt in as soon as a reservation is free", "[unit]") {
  Driver d(config("orca", 32));
  d.arrive(10, 3);
  d.arrive(20, 1);
  d.arrive(5, 1);
  CHECK(d.step() == "A:p10 B:p20 | done B");
  CHECK(d.step() == "C:p5 A:d1 | done C");
  CHECK(d.step() == "A:d1 | done A");
}

TEST_CASE("orca's batch grows with a better allocator", "[unit]") {
  // 16 blocks = 64 slots. Each request stores 8 + 4 - 1 = 11 tokens; max_model_len is 64.
  const auto [allocator, at_once] =
      GENERATE(table<std::string, int>({{"reserve-max", 1},    // 64 slots each
                                        {"reserve-pow2", 4},   // 8 + 8 = 16
                                        {"reserve-exact", 4},  // 8 + 5 = 13 -> 4 blocks
                                        {"paged", 8}}));       // 2 blocks each to begin with
  SchedulerConfig c = config("orca", 16);
  c.engine.kv_allocator = allocator;
  Driver d(c);
  for (int i = 0; i < 8; ++i) d.arrive(8, 5);
  d.step();
  CHECK(d.plan().scheduled.size() == static_cast<std::size_t>(at_once));
}

TEST_CASE("vllm-0.2 stalls decodes while prompts can be admitted", "[unit]") {
  Driver d(config("vllm-0.2"));
  d.arrive(10, 3);
  CHECK(d.step() == "A:p10");
  d.arrive(40, 2);
  d.arrive(30, 2);
  CHECK(d.step() == "B:p40");  // 30 more would exceed the budget of 64
  CHECK(d.step() == "C:p30");
  CHECK(d.step() == "A:d1 B:d1 C:d1 | done B C");
  CHECK(d.step() == "A:d1 | done A");
}

TEST_CASE("vllm-0.2 gives a prompt beyond the budget a step to itself", "[unit]") {
  SchedulerConfig c = config("vllm-0.2");
  c.engine.max_num_batched_tokens = 16;
  Driver d(c);
  d.arrive(20, 1);
  d.arrive(4, 1);
  CHECK(d.step() == "A:p20 | done A");
  CHECK(d.step() == "B:p4 | done B");
}

TEST_CASE("sarathi fills one budget: decodes, prompts under way, new prompts", "[unit]") {
  SchedulerConfig c = config("sarathi");
  c.engine.max_num_batched_tokens = 8;
  Driver d(c);
  d.arrive(6, 3);
  d.arrive(10, 2);
  CHECK(d.step() == "A:p6 B:p2");
  CHECK(d.scheduler().kv_usage().held_blocks == 2 + 3);  // B's whole prompt
  CHECK(d.step() == "B:p7 A:d1");
  d.arrive(9, 1);
  CHECK(d.step() == "B:p1 C:p6 A:d1 | done A");
  CHECK(d.step() == "C:p3 B:d1 | done C B");
}

TEST_CASE("sarathi preempts the last for want of a free block, and keeps to max_tokens", "[unit]") {
  // The start of recording r02; what follows a preemption differs from it on purpose: a sequence
  // does not count its output from zero again.
  SchedulerConfig c = config("sarathi", 9);
  Driver d(c);
  const Sequence& a = d.arrive(10, 8);
  const Sequence& b = d.arrive(9, 8);
  const Sequence& third = d.arrive(5, 6);
  CHECK(d.step() == "A:p10 B:p9 C:p5");
  CHECK(d.step() == "A:d1 B:d1 C:d1");
  CHECK(d.step() == "A:d1 B:d1 C:d1");
  CHECK(d.step() == "A:d1 B:d1 | preempted C");
  for (int i = 0; i < 3; ++i) CHECK(d.step() == "A:d1 B:d1");
  CHECK(d.step() == "A:d1 | preempted B | done A");
  CHECK(d.step() == "B:p16 C:p8 | done B");  // its eighth token
  CHECK(d.step() == "C:d1");
  CHECK(d.step() == "C:d1 | done C");
  CHECK(a.output_tokens == 8);
  CHECK(b.output_tokens == 8);
  CHECK(third.output_tokens == 6);
  CHECK(third.preemptions == 1);
}

TEST_CASE("fcfs-nochunk decodes and prefills whole prompts in one step", "[unit]") {
  Driver d(config("fcfs-nochunk"));
  d.arrive(10, 3);
  CHECK(d.step() == "A:p10");
  d.arrive(40, 2);
  d.arrive(30, 1);
  CHECK(d.step() == "B:p40 A:d1");  // 30 more would exceed the budget
  CHECK(d.step() == "C:p30 A:d1 B:d1 | done C A B");
}

TEST_CASE("fcfs-nochunk preempts only when a block is really missing", "[unit]") {
  Driver d(config("fcfs-nochunk", 4));
  d.arrive(7, 4);
  d.arrive(6, 3);
  CHECK(d.step() == "A:p7 B:p6");  // two blocks each, none free
  CHECK(d.step() == "A:d1 B:d1");  // the last blocks have room (sarathi would preempt here)
  CHECK(d.step() == "A:d1 | preempted B");
  CHECK(d.step() == "A:d1 | done A");
  CHECK(d.step() == "B:p8 | done B");
}

TEST_CASE("sjf takes the least remaining work first and lets the most yield", "[unit]") {
  SchedulerConfig c = config("sjf");
  c.engine.max_num_seqs = 1;
  Driver d(c);
  d.arrive(10, 1);  // 11
  d.arrive(4, 12);  // 16
  d.arrive(5, 1);   // 6
  CHECK(d.step() == "C:p5 | done C");
  CHECK(d.step() == "A:p10 | done A");
  CHECK(d.step() == "B:p4");
  d.arrive(1, 1);
  CHECK(d.step() == "B:d1");  // what runs is not put aside for it

  Driver tight(config("sjf", 4));
  tight.arrive(4, 2);
  tight.arrive(4, 9);
  tight.arrive(7, 2);
  CHECK(tight.step() == "A:p4 C:p7 B:p4");  // work left 6, 9, 13; no block is free then
  CHECK(tight.step() == "A:d1 C:d1 | preempted B | done A C");
}

TEST_CASE("vtc serves the tenant with the least service so far", "[unit]") {
  // schedulers: A 100 tokens (tenant 0, two requests), B 30 (tenant 1), two seats.
  SchedulerConfig c = config("vtc", 128);
  c.engine.max_num_seqs = 2;
  c.engine.max_model_len = c.engine.max_num_batched_tokens = 256;
  Driver d(c);
  d.arrive(100, 3, 0);
  d.arrive(100, 3, 0);
  d.arrive(30, 2, 1);
  d.arrive(30, 2, 1);
  // Tie at 0: the earlier. Then tenant 0 has 100, tenant 1 has 0.
  CHECK(d.step() == "A:p100 C:p30");
  CHECK(d.step() == "A:d1 C:d1 | done C");  // 104 against 34
  CHECK(d.step() == "D:p30 A:d1 | done A");
  CHECK(d.step() == "B:p100 D:d1 | done D");  // only tenant 0 is left waiting
}

TEST_CASE("vtc gives no credit for idling", "[unit]") {
  SchedulerConfig c = config("vtc", 128);
  c.engine.max_num_seqs = 1;
  Driver d(c);
  d.arrive(40, 1, 0);
  d.arrive(10, 1, 1);
  CHECK(d.step() == "A:p40 | done A");  // tenant 0: 42
  d.arrive(10, 1, 0);
  d.arrive(5, 1, 2);                    // lifted to the least of those waiting: tenant 1's 0
  CHECK(d.step() == "B:p10 | done B");  // tie at 0, the earlier; tenant 1: 12
  d.arrive(5, 1, 1);                    // tenant 1 keeps its 12, which is more than 0
  CHECK(d.step() == "D:p5 | done D");   // tenant 2: 7, and nothing waiting
  d.arrive(1, 1, 2);                    // lifted from 7 to 12 (tenant 1 waits)
  CHECK(d.step() == "E:p5 | done E");   // tie at 12, the earlier
  CHECK(d.step() == "F:p1 | done F");
  CHECK(d.step() == "C:p10 | done C");
}

TEST_CASE("edf lets a missed deadline wait behind one that can be met", "[unit]") {
  SchedulerConfig c = config("edf");
  c.engine.max_num_seqs = 1;
  c.slo_ttft_ms = 1500;
  Driver d(c);
  d.arrive(4, 3);  // runs from 0 s to 3 s
  d.arrive(5, 1);  // due at 1.5 s
  CHECK(d.step() == "A:p4");
  d.wait_until(SimTime::from_seconds(2));
  d.arrive(6, 1);  // due at 3.5 s
  CHECK(d.step() == "A:d1");
  CHECK(d.step() == "A:d1 | done A");  // at 3 s
  CHECK(d.now() == SimTime::from_seconds(4));
  d.wait_until(SimTime::from_seconds(3.5));
  CHECK(d.step() == "C:p6 | done C");  // exactly on time
  CHECK(d.step() == "B:p5 | done B");
}

TEST_CASE("INV-6: what can never run is rejected with the reason, and holds nobody up", "[unit]") {
  const std::string scheduler =
      GENERATE("static", "orca", "vllm-0.2", "sarathi", "fcfs-nochunk", "sjf", "vtc", "edf");
  SchedulerConfig c = config(scheduler, 16);
  c.engine.batch_timeout_ms = 0;
  Driver d(c);
  d.arrive(65, 1);  // longer than max_model_len
  d.arrive(4, 1);
  std::string seen = d.step();
  CHECK_THAT(seen, ContainsSubstring("B:p4"));
  while (d.scheduler().waiting() > 0) seen.append(" ").append(d.step());
  CHECK_THAT(seen, ContainsSubstring("rejected A"));

  SchedulerConfig small = config(scheduler, 3);  // 12 tokens
  small.engine.batch_timeout_ms = 0;
  small.engine.kv_allocator = scheduler == "static" || scheduler == "orca" ? "reserve-exact" : "";
  Driver tight(small);
  const Sequence& hopeless = tight.arrive(4, 10);  // stores 13
  tight.step();
  REQUIRE(tight.plan().rejected.size() == 1);
  CHECK_THAT(tight.plan().rejected[0].reason, ContainsSubstring("more than the cache of 3 blocks"));
  CHECK(hopeless.finish_reason == FinishReason::kRejected);
  CHECK(tight.scheduler().waiting() == 0);
}

TEST_CASE("A request at the limits of max_model_len is cut, not rejected", "[unit]") {
  Driver d(config("orca"));
  const Sequence& sequence = d.arrive(62, 10);
  CHECK(d.step() == "A:p62");
  CHECK(d.step() == "A:d1 | done A");
  CHECK(sequence.output_tokens == 2);
  CHECK(sequence.finish_reason == FinishReason::kLength);
}

TEST_CASE("A policy on paged KV refuses a contiguous allocator; a wrong name is explained",
          "[unit]") {
  SchedulerConfig c = config("sarathi");
  c.engine.kv_allocator = "reserve-max";
  CHECK_THROWS_AS(make_scheduler(c), InputError);
  c = config("orca");
  c.engine.kv_allocator = "reserve-maxx";
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("reserve-max"));
}
