#include "sim/core/errors.h"
#include "sim/cost/make_cost_model.h"
#include "sim/cost/profile_pricers.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/fixtures.h"

using namespace headway;

namespace {

ModelSpec three_layers() { return dense_model("small", 3, {64, 128, 4, 2, 16, 64}); }

GpuSpec a_gpu() {
  GpuSpec gpu;
  gpu.name = "a-gpu";
  gpu.memory_bandwidth = 1e12;
  gpu.flops_bf16 = 1e12;
  return gpu;
}

// Times that are straight in their keys, so that sums can be made by hand.
Profile made_up() {
  Profile profile;
  profile.name = "a-gpu/made-up";
  profile.gpu = "a-gpu";
  const auto table = [&](const char* op, std::map<std::string, std::string> variant,
                         std::vector<std::string> axes) -> ProfileTable& {
    variant["model"] = "small";
    variant["tp"] = "1";
    ProfileTable t;
    t.op = op;
    t.variant = std::move(variant);
    t.axes = std::move(axes);
    profile.tables.push_back(std::move(t));
    return profile.tables.back();
  };
  const std::pair<const char*, double> layers[] = {
      {"act_fn", 2}, {"down_proj", 30}, {"embedding", 5}, {"final_layernorm", 7},
      {"gate_up_proj", 50}, {"layernorm", 3}, {"o_proj", 10}, {"qkv_proj", 20}, {"rotary_emb", 4}};
  for (const auto& [layer, us] : layers) {
    ProfileTable& t = table("layer", {{"layer", layer}}, {"tokens"});
    t.keys = {1, 8, 64};
    t.time_us = {us, us + 1, us + 8};
  }
  const std::pair<const char*, double> heads[] = {{"lm_head", 100}, {"sampler", 11}};
  for (const auto& [layer, us] : heads) {
    ProfileTable& t = table("per_sequence", {{"layer", layer}}, {"sequences"});
    t.keys = {1, 8};
    t.time_us = {us, us + 10};
  }
  ProfileTable& mixed = table("attn_mixed", {}, {"prefill_chunk", "kv_prefill", "n_decode",
                                                 "kv_decode"});
  for (std::int64_t chunk : {0, 16, 32}) {
    for (std::int64_t context : {0, 64}) {
      if (chunk == 0 && context > 0) continue;
      for (std::int64_t n : {0, 1, 8}) {
        for (std::int64_t kv : {0, 1, 100, 400}) {
          if ((n == 0) != (kv == 0) || chunk + n == 0) continue;
          mixed.keys.insert(mixed.keys.end(), {chunk, context, n, kv});
          mixed.time_us.push_back(9 + 0.1 * static_cast<double>(chunk) +
                                  0.01 * static_cast<double>(context + n * kv));
        }
      }
    }
  }
  return profile;
}

void add_skew(Profile& profile, double share) {
  for (const char* at : {"skew", "mean", "max"}) {
    ProfileTable t;
    t.op = "attn_skew";
    t.variant = {{"at", at}, {"model", "small"}, {"tp", "1"}};
    t.axes = {"n_decode", "n_long", "prefill_chunk", "kv_prefill", "kv_short", "kv_long"};
    t.keys = {8, 1, 0, 0, 100, 400, 8, 1, 16, 0, 100, 400};
    const double mean = 30, most = 60;
    const std::string name = at;
    const double us = name == "mean" ? mean : name == "max" ? most : mean + share * (most - mean);
    t.time_us = {us, us};
    profile.tables.push_back(std::move(t));
  }
}

double class_us(const StepCost& cost, OpClass op) {
  return cost.by_class_us[static_cast<std::size_t>(op)];
}

}  // namespace

TEST_CASE("a step from layer tables is the sum over the layers", "[unit][cost]") {
  const ModelSpec model = three_layers();
  const GpuSpec gpu = a_gpu();
  const Profile profile = made_up();
  CostOptions options{model, gpu, &profile};
  options.enforce_eager = true;
  const auto cost = make_cost_model(options);
  StepShape shape;
  shape.tokens = shape.decode_sequences = shape.decode_query_tokens = shape.sampled_sequences = 8;
  shape.decode_kv_tokens = 8 * 100;
  shape.decode_kv_max = 100;
  const StepCost step = cost->price(shape);
  CHECK(class_us(step, OpClass::kLinear) == Approx(3 * (21 + 11 + 51 + 31)));
  // The norm runs twice a layer; embedding and final norm once a step.
  CHECK(class_us(step, OpClass::kElementwise) == Approx(3 * (2 * 4 + 5 + 3) + 6 + 8));
  CHECK(class_us(step, OpClass::kLmHead) == Approx(110 + 21));
  CHECK(class_us(step, OpClass::kDecodeAttention) == Approx(3 * 17));
  CHECK(step.coverage_us[static_cast<std::size_t>(Coverage::kMeasured)] == Approx(step.gpu_us));
}

TEST_CASE("one call holds a chunk and the decode batch; more chunks add to it", "[unit][cost]") {
  const ModelSpec model = three_layers();
  const Profile profile = made_up();
  const auto pricer = make_layers_pricer(profile, model, rank_operators(model, {}, 1, 1), a_gpu());
  StepShape shape;
  shape.decode_sequences = 8;
  shape.decode_kv_tokens = 8 * 100;
  shape.decode_kv_max = 100;
  shape.prefill.push_back({32, 64});
  StepCost one;
  const Priced alone = pricer->decode_attention(8, 800);
  pricer->add_prefill(shape, alone, one);
  CHECK(one.gpu_us == Approx(3 * (9 + 3.2 + 0.64 + 8)));
  CHECK(class_us(one, OpClass::kDecodeAttention) == Approx(3 * 17));

  shape.prefill.push_back({16, 0});  // 9 + 1.6 alone; its floor is there already
  StepCost two;
  pricer->add_prefill(shape, alone, two);
  CHECK(two.gpu_us - one.gpu_us == Approx(3 * 1.6).epsilon(0.03));
}

TEST_CASE("unequal decode lengths go the measured share towards the longest", "[unit][cost]") {
  const ModelSpec model = three_layers();
  const GpuSpec gpu = a_gpu();
  Profile profile = made_up();
  add_skew(profile, 0.25);
  const auto cost = make_cost_model({model, gpu, &profile});
  StepShape shape;
  shape.tokens = shape.decode_sequences = shape.decode_query_tokens = shape.sampled_sequences = 8;
  shape.decode_kv_tokens = 8 * 100;
  shape.decode_kv_max = 400;
  // All at the mean 17, all at the longest 41.
  CHECK(class_us(cost->price(shape), OpClass::kDecodeAttention) ==
        Approx(3 * (17 + 0.25 * (41 - 17))));
  shape.prefill.push_back({16, 0});
  shape.tokens += 16;
  const StepCost mixed = cost->price(shape);
  CHECK(class_us(mixed, OpClass::kDecodeAttention) + class_us(mixed, OpClass::kPrefillAttention) ==
        Approx(3 * (18.6 + 0.25 * (42.6 - 18.6))));
}

TEST_CASE("layer tables answer only for what they measured", "[unit][cost]") {
  ModelSpec model = three_layers();
  const GpuSpec gpu = a_gpu();
  const Profile profile = made_up();
  CostOptions options{model, gpu, &profile};
  options.tensor_parallel_size = 2;
  CHECK_THROWS_WITH(make_cost_model(options), ContainsSubstring("small tp 1"));
  options.tensor_parallel_size = 1;
  options.precision.kv = DType::kFp8;
  CHECK_THROWS_AS(make_cost_model(options), InputError);
  options.precision.kv = DType::kBf16;
  model.name = "another";
  CHECK_THROWS_WITH(make_cost_model(options), ContainsSubstring("another"));
  Profile empty;
  empty.name = "a-gpu/empty";
  empty.gpu = "a-gpu";
  options.profile = &empty;
  CHECK_THROWS_AS(make_cost_model(options), InputError);
}
