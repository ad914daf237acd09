#include "sim/replica/replica_step.h"

#include "tests/support/catch.h"

using namespace headway;

TEST_CASE("a plan's shape: chunks by new and context, decodes by KV length, drafts sampled too",
          "[unit][replica]") {
  StepPlan plan;
  plan.scheduled.push_back({.computed_before = 100, .num_tokens = 28, .prefill = true});
  plan.scheduled.push_back({.num_tokens = 12, .samples = true, .prefill = true});
  plan.scheduled.push_back({.computed_before = 50, .num_tokens = 1, .samples = true});
  plan.scheduled.push_back(
      {.computed_before = 200, .num_tokens = 4, .draft_tokens = 3, .samples = true});
  StepShape shape;
  shape_of(plan, shape);
  CHECK(shape.tokens == 45);
  REQUIRE(shape.prefill.size() == 2);
  CHECK(shape.prefill[0].new_tokens == 28);
  CHECK(shape.prefill[0].context_tokens == 100);
  CHECK(shape.decode_sequences == 2);
  CHECK(shape.decode_query_tokens == 5);
  CHECK(shape.decode_kv_tokens == 51 + 204);
  CHECK(shape.decode_kv_max == 204);
  CHECK(shape.sampled_sequences == 1 + 1 + 4);
  CHECK(shape.scheduled_sequences == 4);

  leave_prefill_out(plan, shape);
  CHECK(shape.prefill.empty());
  CHECK(shape.tokens == 5);
  CHECK(shape.sampled_sequences == 1 + 4);
  CHECK(shape.scheduled_sequences == 2);
  CHECK(shape.decode_kv_tokens == 255);
}
