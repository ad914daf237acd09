#include <cmath>

#include "sim/core/data_files.h"
#include "sim/cost/make_cost_model.h"
#include "sim/cost/operator_work.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/kv/model_shard.h"
#include "sim/model/hf_config.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/kinds_fixtures.h"

using namespace headway;

namespace {

Precision stored(DType weights, DType activations = DType::kBf16, std::int32_t group = 0,
                 double kept = 0) {
  Precision p{weights, activations, DType::kBf16};
  p.group_size = group;
  p.kept_fraction = kept;
  return p;
}

double share(const StepCost& cost, Coverage from) {
  return cost.coverage_us[static_cast<std::size_t>(from)] / cost.gpu_us;
}
double class_us(const StepCost& cost, OpClass op) {
  return cost.by_class_us[static_cast<std::size_t>(op)];
}

}  // namespace

TEST_CASE("bytes of a weight, its share of the scales included", "[unit][cost]") {
  CHECK(stored_weight_bytes(stored(DType::kFp32)) == 4);
  CHECK(stored_weight_bytes(stored(DType::kBf16)) == 2);
  CHECK(stored_weight_bytes(stored(DType::kFp8)) == 1);
  CHECK(stored_weight_bytes(stored(DType::kInt8)) == 1 + 2.0 / 128);
  CHECK(stored_weight_bytes(stored(DType::kInt4)) == 0.5 + 2.0 / 128);
  CHECK(stored_weight_bytes(stored(DType::kInt4, DType::kBf16, 32)) == 0.5 + 2.0 / 32);
  CHECK(stored_weight_bytes(stored(DType::kFp4)) == 0.5 + 1.0 / 16);
  CHECK(stored_weight_bytes(stored(DType::kFp4, DType::kBf16, 32)) == 0.5 + 1.0 / 32);  // MXFP4
  // AWQ keeps 1 % at 16 bits; nothing is kept of what is 16 bits wide.
  CHECK(stored_weight_bytes(stored(DType::kInt4, DType::kBf16, 128, 0.01)) ==
        Approx(0.99 * (0.5 + 2.0 / 128) + 0.01 * 2));
  CHECK(stored_weight_bytes(stored(DType::kBf16, DType::kBf16, 128, 0.5)) == 2);
}

TEST_CASE("weight-only formats save bytes and cost instructions", "[unit][cost]") {
  const GpuSpec gpu = h100_sheet();
  const GemmSite site{"gate_up", 28672, 4096};
  const auto us = [&](double rows, const Precision& p) {
    return operator_us(gemm_operator(site, rows, p), gpu);
  };
  const Precision wide, four = stored(DType::kInt4);
  // One row: bytes decide. (2 x 28672 x 4096 + a row in and out) against half a byte and scales.
  const double row = 2.0 * (4096 + 28672);
  CHECK(us(1, wide) / us(1, four) ==
        Approx((2.0 * 28672 * 4096 + row) / ((0.5 + 2.0 / 128) * 28672 * 4096 + row)));
  // Many rows: computed in 16 bits, after widening every 64 rows: 4 operations a weight at 67e12.
  CHECK(us(4096, four) ==
        Approx((2.0 * 4096 * 28672 * 4096 / 989e12 + 28672.0 * 4096 * 64 * 4 / 67e12) * 1e6));
  CHECK(us(4096, four) > us(4096, wide));
  // Activations of 8 bits run at the 8-bit peak and need no widening.
  CHECK(us(4096, stored(DType::kInt8, DType::kInt8)) ==
        Approx(2.0 * 4096 * 28672 * 4096 / 1979e12 * 1e6));
  // LLM.int8(): a share of the columns stays at 16 bits.
  CHECK(us(4096, stored(DType::kInt8, DType::kInt8, 0, 0.1)) ==
        Approx(2.0 * 4096 * 28672 * 4096 * (0.9 / 1979e12 + 0.1 / 989e12) * 1e6));
}

TEST_CASE("4x smaller weights make decoding about 3.2x faster", "[unit][cost]") {
  // AWQ (CS336, lecture 10). Embedding, LM head, KV and activations stay at 16 bits, scales count.
  const ModelSpec model = load_model("llama-2-7b", ".");
  const GpuSpec gpu = load_gpu("a100-sxm");
  const auto us = [&](const Precision& p) {
    CostOptions options{model, gpu};
    options.precision = p;
    options.max_num_batched_tokens = options.max_num_seqs = 1;
    return make_cost_model(options)->price(decode(1, 1024)).gpu_us;
  };
  CHECK(us({}) / us(stored(DType::kInt4)) == Approx(3.2).epsilon(0.05));
}

TEST_CASE("a profile prices formats it lacks from those it has", "[unit][cost]") {
  const ModelSpec model = load_model("llama-3.1-8b", ".");
  const GpuSpec gpu = load_gpu("h100-sxm");
  static const Profile profile = load_profile("h100-sxm/vllm-0.24.0");
  const auto step = [&](const Precision& p, std::int32_t batch) {
    CostOptions options{model, gpu, &profile};
    options.precision = p;
    options.max_num_batched_tokens = options.max_num_seqs = 256;
    return make_cost_model(options)->price(decode(batch, 500));
  };
  const StepCost wide = step({}, 1), eight = step(stored(DType::kFp8, DType::kFp8), 1);
  const StepCost four = step(stored(DType::kInt4), 1);
  // Measured fp8 is measured: only norms and the like are the roofline's.
  CHECK(share(eight, Coverage::kRoofline) ==
        Approx(class_us(eight, OpClass::kElementwise) / eight.gpu_us));
  CHECK(share(four, Coverage::kRoofline) ==
        Approx((class_us(four, OpClass::kElementwise) + class_us(four, OpClass::kLinear)) /
               four.gpu_us));
  // One token, many layers: faster than 16 bits, but launch floors keep it from 4 times.
  const double gain = class_us(wide, OpClass::kLinear) / class_us(four, OpClass::kLinear);
  CHECK(gain > 1.8);
  CHECK(gain < 3.9);
  CHECK(class_us(step(stored(DType::kInt4), 256), OpClass::kLinear) >
        0.7 * class_us(step({}, 256), OpClass::kLinear));
}

TEST_CASE("one GPU's weights are the model's", "[unit][kv]") {
  MemoryOptions options;
  options.max_num_batched_tokens = options.max_num_seqs = 1;
  for (const std::string& name : catalogue_names("models")) {
    ModelSpec model = load_model(name, ".");
    model.max_position_embeddings = 0;  // no rotary table
    for (const DType dtype : {DType::kBf16, DType::kInt4}) {
      options.precision.weights = dtype;
      INFO(name << " " << dtype_name(dtype));
      const double bytes = weight_bytes(model, options.precision);
      CHECK(static_cast<double>(ModelShard(model, options, 0).weight_bytes()) ==
            Approx(bytes).margin(1));
    }
  }
}

TEST_CASE("the stages of a pipeline have the model's weights between them", "[unit][kv]") {
  ModelSpec model = every_kind();
  model.max_position_embeddings = 0;
  MemoryOptions options;
  options.pipeline_parallel_size = 5;
  double sum = 0;
  std::int32_t next = 0;
  for (std::int32_t stage = 0; stage < 5; ++stage) {
    const ModelShard shard(model, options, stage);
    CHECK(shard.first_layer() == next);
    next += shard.layers();
    sum += static_cast<double>(shard.weight_bytes());
  }
  CHECK(next == 12);
  CHECK(sum == Approx(weight_bytes(model, {})).margin(5));
}
