#include "sim/replica/speculation.h"

#include "sim/core/errors.h"
#include "tests/support/catch.h"
#include "tests/support/fixed_cost.h"

using namespace headway;

namespace {

SpeculationOptions options(std::vector<double> acceptance, std::int32_t k) {
  SpeculationOptions o;
  o.method = "eagle";
  o.num_speculative_tokens = k;
  o.acceptance = std::move(acceptance);
  return o;
}

// Verifies k drafts at `steps` output positions of one request.
SpeculationStats simulate_drafts(const SpeculationOptions& o, int steps, float request_rate = -1.0F) {
  Speculation speculation(o, 5, nullptr);
  Request request;
  request.acceptance_rate = request_rate;
  Sequence sequence;
  sequence.request = &request;
  for (int i = 0; i < steps; ++i) {
    sequence.output_tokens = i;
    speculation.accepted(sequence, o.num_speculative_tokens);
  }
  return speculation.stats();
}

}  // namespace

TEST_CASE("a conditional rate gives the geometric length", "[unit][speculation]") {
  const SpeculationStats stats = simulate_drafts(options({0.7}, 3), 100'000);
  CHECK(stats.mean_acceptance_length() == Approx(2.533).epsilon(0.01));  // (1 - .7^4) / (1 - .7)
  CHECK(stats.acceptance_rate() == Approx(1.533 / 3).epsilon(0.01));
}

TEST_CASE("a per-position vector comes out as it went in", "[unit][speculation]") {
  for (const AcceptancePreset& preset : acceptance_presets()) {
    SpeculationOptions o;
    o.acceptance_preset = preset.name;
    resolve_speculation(o, "test");
    const SpeculationStats stats = simulate_drafts(o, 100'000);
    double length = 1.0;
    for (std::size_t i = 0; i < preset.rates.size(); ++i) {
      CHECK(stats.per_position()[i] == Approx(preset.rates[i]).margin(0.006));
      length += preset.rates[i];
    }
    INFO(preset.name);
    CHECK(stats.mean_acceptance_length() == Approx(length).epsilon(0.01));
  }
}

TEST_CASE("a request's own rate from the trace wins", "[unit][speculation]") {
  CHECK(simulate_drafts(options({0.2}, 2), 1000, 1.0F).mean_acceptance_length() == 3.0);
  CHECK(simulate_drafts(options({0.9}, 2), 1000, 0.0F).mean_acceptance_length() == 1.0);
}

TEST_CASE("k follows the batch by the table, gaps keep the row before", "[unit][speculation]") {
  SpeculationOptions o = options({0.5}, 3);
  o.num_speculative_tokens_per_batch_size = {{1, 64, 3}, {65, 128, 1}, {200, 512, 0}};
  resolve_speculation(o, "test");
  const Speculation s(o, 1, nullptr);
  CHECK(s.drafts_for_batch(1) == 3);
  CHECK(s.drafts_for_batch(64) == 3);
  CHECK(s.drafts_for_batch(65) == 1);
  CHECK(s.drafts_for_batch(150) == 1);
  CHECK(s.drafts_for_batch(200) == 0);
  CHECK(s.drafts_for_batch(9999) == 0);
}

TEST_CASE("drafting costs one pass over the step's tokens and k - 1 of one token",
          "[unit][speculation]") {
  const auto pass = std::make_shared<FixedCost>(100.0, 1.0, 2.0);
  const Speculation s(options({0.5}, 3), 1, pass);
  StepShape shape, scratch;
  shape.tokens = 4 * 4 + 50;
  shape.prefill.push_back({50, 0});
  shape.decode_sequences = 4;
  shape.decode_query_tokens = 16;
  shape.decode_kv_tokens = 4000;
  shape.scheduled_sequences = 5;
  // First pass: 100 + 50 prefill tokens + 2 * 4; two more: 100 + 2 * 5 each.
  CHECK(s.draft_cost(shape, 5, scratch).gpu_us == Approx(158.0 + 2 * 110.0));
  // The drafter's time is told as what its own cost model told it was: here the roofline.
  CHECK(s.draft_cost(shape, 5, scratch).coverage_us[static_cast<std::size_t>(Coverage::kRoofline)] ==
        Approx(378.0));
  CHECK(Speculation(options({0.5}, 3), 1, nullptr).draft_cost(shape, 5, scratch).gpu_us == 0.0);
}

TEST_CASE("speculation settings that make no sense are refused", "[unit][speculation]") {
  auto bad = options({0.5, 0.6}, 2);
  CHECK_THROWS_WITH(resolve_speculation(bad, "f.json"), ContainsSubstring("never increase"));
  bad = options({1.5}, 2);
  CHECK_THROWS_AS(resolve_speculation(bad, "f.json"), InputError);
  bad = options({0.5}, 0);
  CHECK_THROWS_WITH(resolve_speculation(bad, "f.json"), ContainsSubstring("num_speculative_tokens"));
  bad = options({0.5}, 2);
  bad.method = "egale";
  CHECK_THROWS_WITH(resolve_speculation(bad, "f.json"), ContainsSubstring("did you mean eagle"));
  bad = SpeculationOptions();
  bad.acceptance_preset = "nonesuch";
  CHECK_THROWS_WITH(resolve_speculation(bad, "f.json"), ContainsSubstring("one of eagle3"));
}
