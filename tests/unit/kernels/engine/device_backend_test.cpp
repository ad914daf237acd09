// The engine on the GPU kernels, under the emulator: every answer must be likely, token by token,
// by the logits that the CPU's operators give for it.
#include "kernels/engine/device_backend.h"

#include "kernels/engine/decoder.h"
#include "kernels/validate/forced_check.h"
#include "sim/core/errors.h"
#include "sim/workload/client.h"
#include "sim/workload/request_source.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/engine/toy_scenario.h"

namespace headway::kernels {
namespace {

constexpr std::uint64_t kSeed = 3;

ModelSpec small_model() {
  ModelSpec m = tiny_model();
  m.hidden_size = 128;
  const MixerSpec& attention = first_attention(m);
  m.layers = alike_layers(2, dense_layer(attention.heads, attention.kv_heads, 64, 96));
  return m;
}

Scenario small_scenario(const std::string& engine, const std::string& workload) {
  Scenario s = tiny_scenario(engine, workload);
  s.model = small_model();
  return s;
}

BackendOptions options_for(const Scenario& s) {
  BackendOptions o;
  o.pages = s.engine.num_gpu_blocks_override;
  o.page_size = s.engine.block_size;
  o.max_rows = s.engine.max_num_batched_tokens;
  o.max_sampled = s.engine.max_num_seqs;
  return o;
}

TEST_CASE("the engine on emulated GPU kernels says what the CPU's logits allow",
          "[unit][kernels]") {
  // Chunks, decodes of ragged lengths, both in one step, and a preemption or two.
  const Scenario s = small_scenario(
      R"("max_num_batched_tokens": 40, "max_num_seqs": 4, "num_gpu_blocks_override": 13,
         "max_model_len": 128, "enable_prefix_caching": false)",
      R"("num_prompts": 7, "request_rate": "inf",
         "input_len": {"distribution": "uniform", "low": 3, "high": 60},
         "output_len": {"distribution": "uniform", "low": 2, "high": 12})");
  const LlamaShape shape = llama_shape(s.model, s.engine.max_model_len);
  const auto emulated = make_emulated_backend(shape, kSeed, options_for(s));
  FakeClock clock;
  std::vector<std::string> notes;
  Client client(open_workload(s.workload, "", s.seed, notes), 0);
  const Blueprint blueprint = make_blueprint(s);
  const EngineRun run =
      Engine({blueprint.scheduler, s.engine.max_model_len, 0}, *emulated, clock).run(client, {});
  REQUIRE(run.conversations.size() == 7);
  std::int32_t mixed = 0, together = 0;
  for (const StepTiming& step : run.steps) {
    mixed += step.prefill_tokens > 0 && step.prefill_tokens < step.rows;
    together = std::max(together, step.sequences);
  }
  CHECK(mixed > 0);
  CHECK(together >= 3);

  const auto cpu = make_cpu_backend(make_cpu_weights(shape, kSeed), options_for(s));
  TokenCheck check = check_forced(run.conversations, *cpu, s.engine.block_size);
  INFO(check.first_difference);
  CHECK(check.tokens > 30);
  CHECK(check.different == 0);
  // By its own logits as well.
  check = check_forced(run.conversations, *emulated, s.engine.block_size);
  INFO(check.first_difference);
  CHECK(check.different == 0);
  // A wrong token is found.
  std::vector<Conversation> wrong = run.conversations;
  wrong.front().answer.front() = (wrong.front().answer.front() + 1) % 128;
  CHECK(check_forced(wrong, *cpu, s.engine.block_size).different > 0);
}

TEST_CASE("GPU attention has heads of 64 and 128 only, and says so", "[unit][kernels]") {
  BackendOptions options;
  options.pages = 4;
  options.max_rows = 8;
  CHECK_THROWS_AS(make_emulated_backend(llama_shape(tiny_model(), 64), 1, options), InputError);
}

}  // namespace
}  // namespace headway::kernels
