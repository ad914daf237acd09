// Prices of models whose layers differ, from the roofline and from a profile.
#include <cmath>

#include "sim/cost/lowered_cost.h"
#include "sim/cost/make_cost_model.h"
#include "sim/cost/profile_pricers.h"
#include "sim/cost/roofline_cost.h"
#include "sim/core/data_files.h"
#include "sim/core/random.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/model/hf_config.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/kinds_fixtures.h"

using namespace headway;

namespace {

const Profile& h100_tables() {
  static const Profile profile = load_profile("h100-sxm/vllm-0.24.0");
  return profile;
}

double share(const StepCost& cost, Coverage from) {
  return cost.coverage_us[static_cast<std::size_t>(from)] / cost.gpu_us;
}
double class_us(const StepCost& cost, OpClass op) {
  return cost.by_class_us[static_cast<std::size_t>(op)];
}

void check_same(const StepCost& a, const StepCost& b) {
  CHECK(a.gpu_us == b.gpu_us);
  for (std::size_t i = 0; i < kOpClasses; ++i) {
    CHECK(a.by_class_us[i] == Approx(b.by_class_us[i]).margin(1e-9));
  }
  for (std::size_t i = 0; i < kCoverageKinds; ++i) {
    CHECK(a.coverage_us[i] == Approx(b.coverage_us[i]).margin(1e-9));
  }
}

// INV-8: a run is its steps.
void check_runs(const CostModel& cost) {
  for (const std::int32_t batch : {1, 3, 17}) {
    for (const std::int32_t length : {1, 100, 900, 2000}) {
      StepShape step = decode(batch, length);
      step.decode_kv_tokens += batch / 2;  // lengths need not be equal
      DecodeRunCost run;
      const std::int64_t steps = 700;
      cost.price_run(step, steps, run);
      const DecodeRunSum sum = cost.sum_run(step, steps);
      std::array<double, kCoverageKinds> changing_us{};
      for (std::int64_t i = 0; i < steps; ++i) {
        const StepCost one = cost.price(step);
        REQUIRE(run.gpu_us[static_cast<std::size_t>(i)] == one.gpu_us);
        if (i % 100 == 0) check_same(run.at(static_cast<std::size_t>(i)), one);
        changing_us[run.from[static_cast<std::size_t>(i)]] += one.gpu_us - run.fixed.gpu_us;
        step.decode_kv_tokens += batch;
        step.decode_kv_max += 1;
      }
      check_same(sum.fixed, run.fixed);
      CHECK(sum.changing == run.changing);
      for (std::size_t i = 0; i < kCoverageKinds; ++i) {
        CHECK(sum.changing_us[i] == Approx(changing_us[i]).epsilon(1e-9).margin(1e-6));
      }
    }
  }
}

void check_lowering(const StepPricer& pricer, const LoweredCost& lowered) {
  RandomStream random(7, "lowering");
  for (int i = 0; i < 300; ++i) {
    const auto batch = static_cast<std::int32_t>(random.uniform_int(1, 32));
    StepShape step = decode(batch, static_cast<std::int32_t>(random.uniform_int(1, 20000)));
    if (i % 3 == 0) {
      const auto chunk = static_cast<std::int32_t>(random.uniform_int(1, 2000));
      step.prefill.push_back({chunk, static_cast<std::int32_t>(random.uniform_int(0, 9000))});
      step.tokens += chunk;
    }
    const double exact = price_unlowered(pricer, CudaGraphs{}, step).gpu_us;
    CHECK(std::abs(lowered.price(step).gpu_us / exact - 1) < 1e-3);
    CHECK(lowered.least_us() > 0);
    CHECK(lowered.least_us() <= lowered.price(step).gpu_us);
  }
}

}  // namespace

TEST_CASE("INV-8: runs of models of every kind are their steps", "[unit][cost]") {
  const ModelSpec model = every_kind();
  const GpuSpec gpu = load_gpu("h100-sxm");
  CostOptions options{model, gpu};
  options.max_num_batched_tokens = 256;
  options.max_num_seqs = 32;
  check_runs(*make_cost_model(options));
  options.profile = &h100_tables();
  check_runs(*make_cost_model(options));
  options.enforce_eager = true;
  options.launch_us = 20;
  check_runs(*make_cost_model(options));
}

TEST_CASE("lowering stays within 0.1 % for models of every kind", "[unit][cost]") {
  const ModelSpec model = every_kind();
  const GpuSpec gpu = load_gpu("h100-sxm");
  const RankOperators ops = rank_operators(model, {}, 1, 1);
  const LoweringLimits limits{64, 32, 32768};
  const auto roofline = make_roofline_pricer(ops, gpu);
  check_lowering(*roofline, LoweredCost(make_roofline_pricer(ops, gpu), limits, {}));
  const auto measured = make_operators_pricer(h100_tables(), ops, gpu, 32768);
  check_lowering(*measured, LoweredCost(make_operators_pricer(h100_tables(), ops, gpu, 32768),
                                        limits, {}));
}

TEST_CASE("a profile prices what it has and says where it has not", "[unit][cost]") {
  const GpuSpec gpu = load_gpu("h100-sxm");
  const auto step = [&](const MixerSpec& mixer, const MlpSpec& mlp, Precision precision = {}) {
    const ModelSpec model = model_of(alike_layers(8, {mixer, mlp, 2}));
    CostOptions options{model, gpu, &h100_tables()};
    options.precision = precision;
    options.max_num_batched_tokens = options.max_num_seqs = 32;
    return make_cost_model(options)->price(decode(16, 4096));
  };
  const LayerSpec plain = dense_layer(32, 8, 128, 14336);
  const StepCost full = step(plain.mixer, plain.mlp);

  // Another head size with as many bytes and FLOPs: the same time, but not called measured.
  const StepCost wide = step(dense_layer(16, 4, 256, 0).mixer, plain.mlp);
  CHECK(class_us(wide, OpClass::kDecodeAttention) ==
        Approx(class_us(full, OpClass::kDecodeAttention)));
  CHECK(share(wide, Coverage::kExtrapolated) > share(full, Coverage::kExtrapolated));

  // A window: full attention at the window's length.
  MixerSpec window = plain.mixer;
  window.window = 1024;
  const ModelSpec short_model = model_of(alike_layers(8, plain));
  CostOptions options{short_model, gpu, &h100_tables()};
  options.max_num_batched_tokens = options.max_num_seqs = 32;
  CHECK(class_us(step(window, plain.mlp), OpClass::kDecodeAttention) ==
        Approx(class_us(make_cost_model(options)->price(decode(16, 1024)),
                        OpClass::kDecodeAttention)));

  // States: the roofline's, with a floor, and only of their class.
  const MixerSpec delta = state_mixer(MixerKind::kGatedDeltaNet, 32, 16, 128, 128, 4);
  const StepCost state = step(delta, plain.mlp);
  const double moved_us = 16 * 2.0 * 32 * 128 * 128 * 4 / (0.8 * 3.35e12) * 1e6;
  CHECK(class_us(state, OpClass::kDecodeAttention) > 8 * moved_us);
  CHECK(class_us(state, OpClass::kDecodeAttention) < 8 * (moved_us + 10));
  CHECK(share(state, Coverage::kRoofline) > share(full, Coverage::kRoofline));

  // A KV format that was not measured: above the floor, scaled by bytes.
  const StepCost narrow = step(plain.mixer, plain.mlp, {DType::kBf16, DType::kBf16, DType::kInt4});
  CHECK(class_us(narrow, OpClass::kDecodeAttention) <
        0.6 * class_us(full, OpClass::kDecodeAttention));
  CHECK(share(narrow, Coverage::kRoofline) > share(full, Coverage::kRoofline));
  // MLA: 576 elements a token where 128 heads would keep 32768.
  const StepCost latent = step(latent_mixer(), plain.mlp);
  CHECK(class_us(latent, OpClass::kDecodeAttention) <
        class_us(step(dense_layer(128, 128, 128, 0).mixer, plain.mlp), OpClass::kDecodeAttention));
}

TEST_CASE("a mixture's own skew scales the balanced load", "[unit][cost]") {
  const GpuSpec gpu = load_gpu("h100-sxm");
  const auto products = [&](double skew, bool profile) {
    const MixerSpec mixer = dense_layer(32, 4, 128, 0).mixer;
    const ModelSpec model = model_of(alike_layers(8, {mixer, moe(128, 8, 768, 0, skew), 2}), 2048);
    CostOptions options{model, gpu, profile ? &h100_tables() : nullptr};
    options.max_num_batched_tokens = options.max_num_seqs = 16;
    return make_cost_model(options)->price(decode(16, 100));
  };
  // Fewer experts are hit, so fewer weights are read.
  for (const bool profile : {false, true}) {
    CHECK(class_us(products(2, profile), OpClass::kLinear) <
          class_us(products(0.5, profile), OpClass::kLinear));
  }
  CHECK(share(products(2, true), Coverage::kRoofline) >
        share(products(0, true), Coverage::kRoofline));
}

TEST_CASE("windowed layers flatten and states never grow", "[unit][cost]") {
  const GpuSpec gpu = load_gpu("h100-sxm");
  const auto growth = [&](const MixerSpec& mixer) {
    const ModelSpec model = model_of(alike_layers(8, {mixer, {.kind = MlpKind::kNone}, 1}), 4096,
                                     1 << 20);
    CostOptions options{model, gpu};
    options.max_num_batched_tokens = options.max_num_seqs = 8;
    const auto cost = make_cost_model(options);
    const auto at = [&](std::int32_t length) {
      return class_us(cost->price(decode(1, length)), OpClass::kDecodeAttention);
    };
    return at(1 << 20) / at(1 << 13);
  };
  MixerSpec full = dense_layer(32, 8, 128, 0).mixer, window = full, chosen = latent_mixer();
  window.window = 4096;
  chosen.sparse.top_k = 2048;
  CHECK(growth(full) == Approx(128).epsilon(0.01));
  CHECK(growth(window) == Approx(1));
  CHECK(growth(chosen) == Approx(1));
  CHECK(growth(state_mixer(MixerKind::kMamba2, 80, 1, 128, 64, 4)) == Approx(1));
}

TEST_CASE("every model of the catalogue has a price on a profile and on the roofline",
          "[unit][cost]") {
  const GpuSpec gpu = load_gpu("h100-sxm");
  for (const std::string& name : catalogue_names("models")) {
    INFO(name);
    const ModelSpec model = load_model(name, ".");
    CostOptions options{model, gpu};
    options.max_num_batched_tokens = options.max_num_seqs = 8;
    options.max_model_len = 2048;
    const double bound = make_cost_model(options)->price(decode(4, 1000)).gpu_us;
    options.profile = &h100_tables();
    const StepCost measured = make_cost_model(options)->price(decode(4, 1000));
    CHECK(bound > 0);
    CHECK(measured.gpu_us > 0.8 * bound);
  }
}
