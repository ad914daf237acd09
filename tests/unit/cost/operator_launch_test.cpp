// CUDA graphs: what launches cost outside of them, whatever the layers are.
#include "sim/cost/cuda_graphs.h"
#include "sim/cost/make_cost_model.h"
#include "sim/cost/operator_work.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/model/hf_config.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/kinds_fixtures.h"

using namespace headway;

namespace {

const Profile& tables() {
  static const Profile profile = load_profile("h100-sxm/vllm-0.24.0");
  return profile;
}

StepCost step(const ModelSpec& model, bool eager, double launch_us, std::int32_t batch) {
  const GpuSpec gpu = load_gpu("h100-sxm");
  CostOptions options{model, gpu, &tables()};
  options.max_num_batched_tokens = 1024;
  options.max_num_seqs = 256;
  options.enforce_eager = eager;
  options.launch_us = launch_us;
  return make_cost_model(options)->price(decode(batch, 100));
}

double launches_us(const StepCost& cost) {
  return cost.by_class_us[static_cast<std::size_t>(OpClass::kOther)];
}

}  // namespace

TEST_CASE("launches that outlast the work are waited for", "[unit][cost]") {
  CudaGraphs graphs{64, 5};
  CHECK(graphs.exposed_us(64, 100, 200) == 0);  // captured
  CHECK(graphs.exposed_us(65, 100, 200) == 300);
  CHECK(graphs.exposed_us(65, 100, 600) == 0);
  graphs.launch_us = 0;
  CHECK(graphs.exposed_us(65, 100, 200) == 0);
}

TEST_CASE("kernels of a step by hand", "[unit][cost]") {
  const ModelSpec plain = dense_model("plain", 3, {64, 128, 4, 2, 16, 64});
  // A layer: four products, attention, two norms, RoPE with the KV write, activation; then
  // embedding, final norm and LM head.
  CHECK(step_kernels(rank_operators(plain, {}, 1, 1)) == 3 * 9 + 3);
  CHECK(step_kernels(rank_operators(plain, {}, 2, 1)) == 3 * 9 + 3 + 6);
  const ModelSpec state = model_of({{state_mixer(MixerKind::kMamba2, 80, 1, 128, 64, 4),
                                     {.kind = MlpKind::kNone}, 1}});
  // In, out, convolution, update, norm, gated norm.
  CHECK(step_kernels(rank_operators(state, {}, 1, 1)) == 6 + 3);
}

TEST_CASE("small eager steps take as long as their launches", "[unit][cost]") {
  for (const ModelSpec& model : {load_model("qwen3-0.6b", "."), every_kind()}) {
    INFO(model.name);
    const double launch_us = 50, all_us = launch_us * step_kernels(rank_operators(model, {}, 1, 1));
    const StepCost graph = step(model, false, launch_us, 4);
    const StepCost eager = step(model, true, launch_us, 4);
    CHECK(launches_us(graph) == 0);
    CHECK(launches_us(eager) > 0);
    CHECK(eager.gpu_us >= all_us);
    const double attention = eager.by_class_us[static_cast<std::size_t>(OpClass::kDecodeAttention)];
    CHECK(eager.gpu_us <= all_us + attention + 1e-6);
    // Without a figure nothing is added.
    CHECK(launches_us(step(model, true, 0, 4)) == 0);
  }
}
