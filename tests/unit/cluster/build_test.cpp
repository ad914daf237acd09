#include "sim/cluster/build.h"

#include "sim/cluster/simulation.h"
#include "sim/core/errors.h"
#include "sim/metrics/run_metrics.h"
#include "sim/model/hf_config.h"
#include "sim/model/model_spec.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

Scenario scenario(const std::string& more, const std::string& scheduler = "vllm-v1") {
  return parse_scenario(
      R"({"model": "llama-3.1-8b", "gpu": "h100-sxm",
    "engine": {"max_model_len": 8192, "scheduler": ")" +
          scheduler + R"("},
    "workload": {"num_prompts": 64, "max_concurrency": 8, "input_len": 200, "output_len": 400})" +
          more + "}",
      "test");
}

}  // namespace

TEST_CASE("a drafter's weights and KV come off the cache", "[unit][cluster]") {
  const MemoryBudget plain = make_blueprint(scenario("")).budget;
  const MemoryBudget eagle =
      make_blueprint(scenario(R"(, "speculation": {"acceptance": "eagle3-llama-3.1-8b-mtbench"})"))
          .budget;
  // One layer of 32 more in every block, and its weights: attention 2 D N H + 2 D K H, MLP 3 D F, norms.
  CHECK(eagle.block_bytes == plain.block_bytes / 32 * 33);
  const double layer = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336 + 3 * 4096;
  CHECK(static_cast<double>(eagle.weight_bytes - plain.weight_bytes) == Approx(2 * layer).epsilon(1e-6));
  CHECK(eagle.num_gpu_blocks < plain.num_gpu_blocks);
  const MemoryBudget ngram =
      make_blueprint(scenario(R"(, "speculation": {"acceptance": "ngram-code-edit"})")).budget;
  CHECK(ngram.num_gpu_blocks == plain.num_gpu_blocks);
  const MemoryBudget pair = make_blueprint(scenario(R"(, "speculation": {"method": "draft_model",
      "draft_model": "llama-3.2-1b", "num_speculative_tokens": 3, "acceptance": 0.7})")).budget;
  CHECK(pair.weight_bytes - plain.weight_bytes == 2 * parameter_count(load_model("llama-3.2-1b", "")));
}

TEST_CASE("a speculative run emits what was asked for, in fewer steps, at the preset's rates",
          "[unit][cluster]") {
  const auto run = [](const std::string& more) {
    RunMetrics metrics;
    Observer* observers[] = {&metrics};
    const RunOutcome outcome = simulate(scenario(more), observers);
    return std::pair{outcome, metrics.result()};
  };
  const auto [plain, plain_summary] = run("");
  for (const char* method : {"eagle", "ngram", "draft_model", "mtp", "medusa"}) {
    const auto [outcome, summary] =
        run(std::string(R"(, "speculation": {"method": ")") + method +
            R"(", "num_speculative_tokens": 3, "acceptance": [0.8, 0.6, 0.4])" +
            (method == std::string("draft_model") ? R"(, "draft_model": "llama-3.2-1b"})" : "}"));
    INFO(method);
    CHECK(summary.output_tokens == plain_summary.output_tokens);
    CHECK(outcome.speculation.mean_acceptance_length() == Approx(2.8).epsilon(0.03));
    CHECK(outcome.speculation.per_position()[1] == Approx(0.6).margin(0.03));
    // 64 sequences of 400 tokens, 8 at a time: 3200 steps one by one.
    CHECK(static_cast<double>(outcome.steps) < 1.25 * static_cast<double>(plain.steps) / 2.8);
  }
}

TEST_CASE("speculation is refused where the scheduler has no room for drafts", "[unit][cluster]") {
  CHECK_THROWS_AS(simulate(scenario(R"(, "speculation": {"acceptance": "mtp-gsm8k"})", "orca"), {}),
                  InputError);
}
