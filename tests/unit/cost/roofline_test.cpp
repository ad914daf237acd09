#include <cmath>

#include "sim/core/errors.h"
#include "sim/cost/lowered_cost.h"
#include "sim/cost/make_cost_model.h"
#include "sim/cost/roofline_cost.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/fixtures.h"

using namespace headway;

namespace {

ModelSpec llama_2_13b(std::int32_t kv_heads) {
  return dense_model("llama-2-13b", 40, {5120, 13824, 40, kv_heads, 128, 32000});
}

ModelSpec tiny() { return dense_model("tiny", 1, {64, 128, 4, 2, 16, 64}); }

GpuSpec gpu(double flops, double bandwidth) {
  GpuSpec spec;
  spec.name = "a-gpu";
  spec.flops_bf16 = flops;
  spec.memory_bandwidth = bandwidth;
  spec.link_bandwidth = 1e9;
  spec.link_latency_us = 3;
  return spec;
}

double class_us(const StepCost& cost, OpClass op) {
  return cost.by_class_us[static_cast<std::size_t>(op)];
}

}  // namespace

TEST_CASE("the lecture's Llama 2 13B table", "[unit][cost]") {
  struct Row {
    std::int32_t kv_heads, batch;
    double ms, tokens_per_second;
  };
  // CS336 (Spring 2026), lecture 10: memory / 3.35e12 B/s, and batch over that.
  const Row rows[] = {{40, 1, 8.0208, 124.68},    {40, 16, 11.7769, 1358.59},
                      {40, 64, 23.7964, 2689.48}, {40, 256, 71.8744, 3561.77},
                      {8, 64, 9.9740, 6416.69},   {8, 256, 19.5896, 13068.16}};
  const GpuSpec h100 = gpu(989e12, 3.35e12);
  for (const Row& row : rows) {
    const ModelSpec model = llama_2_13b(row.kv_heads);
    CostOptions options{model, h100};
    options.roofline_detail = RooflineDetail::kLecture;
    const StepCost cost = make_cost_model(options)->price(decode(row.batch, 1024));
    CHECK(std::abs(cost.gpu_us / 1e3 - row.ms) < 0.00005 + 1e-9);
    CHECK(std::abs(row.batch / (cost.gpu_us / 1e6) - row.tokens_per_second) < 0.005 + 1e-9);
    CHECK(cost.coverage_us[static_cast<std::size_t>(Coverage::kRoofline)] == cost.gpu_us);

    // Operator by operator: without the embedding table (1.2 % of the weights), with activations.
    options.roofline_detail = RooflineDetail::kOperators;
    const double operators = make_cost_model(options)->price(decode(row.batch, 1024)).gpu_us / 1e3;
    const double embedding_ms = 32000.0 * 5120 * 2 / 3.35e12 * 1e3;
    CHECK(operators > row.ms - embedding_ms);
    CHECK(operators < row.ms * 1.07);
  }
}

TEST_CASE("the operators of a tiny model by hand", "[unit][cost]") {
  const ModelSpec model = tiny();
  const GpuSpec even = gpu(1e12, 1e12);  // 1 FLOP and 1 byte in 1e-6 us
  const auto cost = make_cost_model({model, even})->price(decode(1, 10));
  // QKV 128x64, O 64x64, gate/up 256x64, down 64x128: weights, a row in, a row out, 2 bytes each.
  const double linear = 2 * (128 * 64 + 64 + 128 + 64 * 64 + 64 + 64 + 256 * 64 + 64 + 256 +
                             64 * 128 + 128 + 64);
  CHECK(class_us(cost, OpClass::kLinear) == Approx(linear * 1e-6));
  // Two norms (8 D), RoPE and KV read (2 (q + kv) + 2 kv), activation (3 F); KV write; 6 D a step.
  const double elementwise = 2 * (8 * 64 + 2 * (64 + 32) + 2 * 32 + 3 * 128) + 2 * 32 * 2 +
                             2 * 6 * 64;
  CHECK(class_us(cost, OpClass::kElementwise) == Approx(elementwise * 1e-6));
  CHECK(class_us(cost, OpClass::kLmHead) == Approx(2 * (64 * 64 + 64 + 64) * 1e-6));
  // 4 x 64 x 10 FLOPs outweigh 2 x 32 x 10 x 2 + 2 x 64 x 2 bytes.
  CHECK(class_us(cost, OpClass::kDecodeAttention) == Approx(2560e-6));
  CHECK(cost.gpu_us == Approx(0.0896));
}

TEST_CASE("prefill chunks of the roofline add up over their history", "[unit][cost]") {
  const ModelSpec model = tiny();
  const GpuSpec compute_bound = gpu(1e12, 1e18);
  const auto cost = make_cost_model({model, compute_bound});
  const auto chunk = [&](std::int32_t fresh, std::int32_t context) {
    StepShape shape;
    shape.tokens = fresh;
    shape.prefill.push_back({fresh, context});
    return class_us(cost->price(shape), OpClass::kPrefillAttention);
  };
  CHECK(chunk(100, 0) == Approx(4 * 64 * (100 * 101 / 2) * 1e-6));
  CHECK(chunk(60, 0) + chunk(40, 60) == Approx(chunk(100, 0)));
}

TEST_CASE("tensor parallelism splits products and adds two all-reduces a layer", "[unit][cost]") {
  const ModelSpec model = tiny();
  const GpuSpec even = gpu(1e12, 1e12);
  CostOptions options{model, even};
  options.tensor_parallel_size = 2;
  const auto cost = make_cost_model(options)->price(decode(1, 10));
  // 2 layers' halves x (2 (p - 1) / p x 128 bytes / 1e9 B/s + 3 us).
  CHECK(class_us(cost, OpClass::kCommunication) == Approx(2 * (0.128 + 3)));
  const double linear = 2 * (64 * 64 + 64 + 64 + 64 * 32 + 32 + 64 + 128 * 64 + 64 + 128 +
                             64 * 64 + 64 + 64);
  CHECK(class_us(cost, OpClass::kLinear) == Approx(linear * 1e-6));

  options.tensor_parallel_size = 3;
  CHECK_THROWS_AS(make_cost_model(options), InputError);
  options.tensor_parallel_size = 4;  // more GPUs than KV heads: they are replicated
  CHECK_NOTHROW(make_cost_model(options));
  options.tensor_parallel_size = 1;
  options.pipeline_parallel_size = 2;  // one layer
  CHECK_THROWS_AS(make_cost_model(options), InputError);
}

TEST_CASE("experts: weights count once per expert that is hit", "[unit][cost]") {
  ModelSpec model = tiny();
  MlpSpec& mlp = model.layers.front().mlp;
  mlp.kind = MlpKind::kMoe;
  mlp.experts = 8;
  mlp.experts_per_tok = 2;
  mlp.expert_intermediate = 32;
  const RankOperators ops = rank_operators(model, {}, 1, 1);
  const ExpertWidths widths = expert_widths(ops, ops.first());
  // One token hits exactly 2 experts of 3 x 64 x 32 weights; FLOPs 2 a weight and token.
  CHECK(experts_work(widths, 1).flops == Approx(2 * 2 * 3 * 64 * 32));
  CHECK(experts_work(widths, 1).bytes ==
        Approx(2 * 3 * 64 * 32 * 2 + 2 * (64 * 2 + 3 * 32 * 2 + 64 * 2)));
  // Very many tokens hit all 8.
  const double tokens = 1000;
  CHECK(experts_work(widths, tokens).bytes - tokens * 2 * (64 * 2 + 3 * 32 * 2 + 64 * 2) ==
        Approx(8 * 3 * 64 * 32 * 2));
}

TEST_CASE("the LM head stays at 16 bits under quantised weights", "[unit][cost]") {
  const ModelSpec model = tiny();
  GpuSpec even = gpu(1e12, 1e12);
  even.flops_fp8 = 4e12;
  CostOptions options{model, even};
  options.precision.weights = DType::kFp8;
  options.precision.activations = DType::kFp8;
  const auto cost = make_cost_model(options)->price(decode(1, 10));
  CHECK(class_us(cost, OpClass::kLmHead) == Approx(2 * (64 * 64 + 64 + 64) * 1e-6));
  CHECK(class_us(cost, OpClass::kLinear) < 0.06);
}

TEST_CASE("CUDA graphs pad to vLLM's captured sizes", "[unit][cost]") {
  const CudaGraphs graphs = CudaGraphs::vllm(256, 8192);
  CHECK(graphs.max_capture == 512);
  const std::pair<int, int> sizes[] = {{1, 1},     {2, 2},     {3, 4},     {4, 4},     {5, 8},
                                       {8, 8},     {9, 16},    {241, 248}, {249, 256}, {257, 272},
                                       {512, 512}, {513, 513}, {8000, 8000}};
  for (const auto& [tokens, padded] : sizes) CHECK(graphs.padded(tokens) == padded);
  CHECK(CudaGraphs::vllm(2, 8192).max_capture == 4);
  CHECK(CudaGraphs::vllm(2, 8192).padded(5) == 5);
  CHECK(CudaGraphs{}.padded(3) == 3);
}
