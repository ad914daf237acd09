// SGLang beyond its recordings (tests/conformance), on cases worked by hand.
#include <vector>

#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/unit/scheduling/driver.h"

using namespace headway;
using headway::testing::Driver;

namespace {

SchedulerConfig config(std::int64_t pool_tokens) {
  SchedulerConfig result;
  EngineOptions& engine = result.engine;
  engine.scheduler = "sglang";
  engine.max_num_seqs = 8;
  engine.max_model_len = 64;
  engine.block_size = 1;
  engine.chunked_prefill_size = 32;
  engine.async_scheduling = false;
  result.num_blocks = pool_tokens;
  return result;
}

Request of_group(std::int64_t group, std::int32_t prompt, std::int32_t shared) {
  Request r;
  r.prompt_tokens = prompt;
  r.output_tokens = 1;
  r.prefix_group = group;
  r.prefix_tokens = shared;
  return r;
}

}  // namespace

TEST_CASE("sglang dfs-weight serves the fuller subtree first", "[unit]") {
  SchedulerConfig c = config(200);
  c.engine.policy = "dfs-weight";
  c.engine.max_num_seqs = 2;
  Driver d(c);
  d.arrive(of_group(1, 6, 4));
  d.arrive(of_group(2, 6, 4));
  CHECK(d.step() == "A:p6 B:p6 | done A B");
  d.arrive(of_group(1, 8, 4));
  d.arrive(of_group(2, 8, 4));
  d.arrive(of_group(2, 9, 4));
  d.arrive(5, 1);  // finds nothing: ends at the root, which comes last
  CHECK(d.step() == "D:p4 E:p5 | done D E");
  CHECK(d.step() == "C:p4 F:p5 | done C F");
}

TEST_CASE("sglang dfs-weight keeps subtrees of equal weight in order of insertion", "[unit]") {
  SchedulerConfig c = config(200);
  c.engine.policy = "dfs-weight";
  Driver d(c);
  d.arrive(of_group(1, 6, 4));
  d.arrive(of_group(2, 6, 4));
  d.step();
  d.arrive(of_group(2, 8, 4));
  d.arrive(of_group(1, 8, 4));
  CHECK(d.step() == "D:p4 C:p4 | done D C");
}

TEST_CASE("sglang random order is the seed's", "[unit]") {
  SchedulerConfig c = config(2000);
  c.engine.policy = "random";
  c.engine.chunked_prefill_size = -1;
  std::string orders[3];
  for (int i = 0; i < 3; ++i) {
    c.seed = i == 2 ? 2 : 1;
    Driver d(c);
    for (int n = 0; n < 8; ++n) d.arrive(2, 1);
    orders[i] = d.step();
  }
  CHECK(orders[0] == orders[1]);
  CHECK(orders[0] != orders[2]);
}

TEST_CASE("sglang retracts where a mixed step's decodes find no memory", "[unit]") {
  // Three prompts of a page each, in five pages; the fourth takes one of the two that are left, and
  // each decode wants one.
  SchedulerConfig c = config(20);
  c.engine.page_size = 4;
  c.engine.enable_mixed_chunk = true;
  c.engine.init_new_token_ratio = 0;
  c.engine.retract_decode_steps = 0;
  Driver d(c);
  for (int i = 0; i < 3; ++i) d.arrive(4, 2);
  CHECK(d.step() == "A:p4 B:p4 C:p4");
  d.arrive(3, 1);
  CHECK(d.step() == "D:p3 A:d1 B:d1 | preempted C | done D A B");
  CHECK(d.step() == "C:p5 | done C");
}

TEST_CASE("sglang: a cut prompt yields to the last one decoding", "[unit]") {
  SchedulerConfig c = config(16);
  c.engine.enable_mixed_chunk = true;
  c.engine.chunked_prefill_size = 4;
  c.engine.init_new_token_ratio = 0;
  Driver d(c);
  d.arrive(2, 10);
  CHECK(d.step() == "A:p2");
  d.arrive(11, 1);
  for (int i = 0; i < 3; ++i) CHECK(d.step() == "B:p3 A:d1");
  CHECK(d.step() == "B:p1 A:d1");  // two tokens were left
  CHECK(d.step() == "A:d1 | preempted B");
  for (int i = 0; i < 3; ++i) CHECK(d.step() == "A:d1");
  CHECK(d.step() == "A:d1 | done A");
  // Of B's nine computed tokens the tree has kept some; A's have gone into it.
  CHECK_FALSE(d.step().empty());
}

TEST_CASE("sglang: samples share their prompt, not their answers", "[unit]") {
  Driver d(config(100));
  Request r;
  r.prompt_tokens = 6;
  r.output_tokens = 4;
  std::vector<Sequence> samples(3);
  r.samples = 3;
  for (std::int32_t i = 0; i < 3; ++i) {
    Sequence& s = samples[static_cast<std::size_t>(i)];
    s.request = &r;
    s.slot = static_cast<std::uint32_t>(i);
    s.sample = i;
    s.prompt_tokens = 6;
    s.max_tokens = s.output_target = 4;
    d.scheduler().add(s);
  }
  for (int i = 0; i < 4; ++i) d.step();
  CHECK(d.update().finished.size() == 3);
  CHECK(d.scheduler().kv_usage().cached_blocks == 6 + 3 * 3);  // the last token of each has no KV
}

TEST_CASE("sglang rejects what its pool cannot hold, and says why", "[unit]") {
  Driver d(config(20));
  d.arrive(15, 6);
  d.arrive(15, 5);
  d.arrive(64, 1);
  CHECK(d.step() == "B:p15 | rejected A C");
  CHECK_THAT(d.plan().rejected[0].reason, ContainsSubstring("20"));
  CHECK_THAT(d.plan().rejected[1].reason, ContainsSubstring("max_model_len"));
}

TEST_CASE("sglang refuses settings it cannot follow", "[unit]") {
  SchedulerConfig c = config(100);
  c.engine.policy = "lmp";
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("did you mean lpm?"));
  c = config(100);
  c.engine.page_size = 5;
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("chunked_prefill_size"));
  c = config(100);
  c.speculation = "eagle";
  c.num_speculative_tokens = 2;
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("speculation.method"));
  c = config(100);
  c.engine.block_size = 16;
  c.engine.page_size = 3;
  c.engine.chunked_prefill_size = 3;
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("block_size"));
  c = config(100);
  c.pipeline_parallel_size = 2;
  CHECK_THROWS_WITH(make_scheduler(c), ContainsSubstring("pipeline_parallel_size"));
}
