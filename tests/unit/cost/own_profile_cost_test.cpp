// Steps priced from a profile that measured also the small kernels between the products.

#include "sim/cost/make_cost_model.h"
#include "sim/cost/measured_elementwise.h"
#include "sim/cost/measured_operators.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/fixtures.h"

namespace headway {
namespace {

constexpr Widths kSmall{256, 512, 4, 2, 64, 1024};

// One row more in a table of one op: keys and time.
void add_row(ProfileTable& table, std::vector<std::int64_t> key, double us) {
  table.keys.insert(table.keys.end(), key.begin(), key.end());
  table.time_us.push_back(us);
}

ProfileTable table(const char* op, std::map<std::string, std::string> variant) {
  ProfileTable t;
  t.op = op;
  t.variant = std::move(variant);
  t.axes = profile_axes(op);
  t.file = std::string(op) + ".csv";
  return t;
}

// Rows for 1 and 8 tokens, sequences or prompts at the widths of kSmall; times chosen so that each
// is told apart in a sum.
Profile own_profile(bool elementwise) {
  Profile p;
  p.name = "cpu/headway-test";
  p.gpu = "cpu";
  ProfileTable gemm = table("gemm", {{"weights", "bf16"}, {"activations", "bf16"}});
  // (n, k) ascending: o 256x256, down 256x512, qkv 512x256, gate_up and lm_head 1024x256.
  for (const auto& [n, k, us] : {std::tuple{256, 256, 20.}, {256, 512, 40.}, {512, 256, 10.},
                                 {1024, 256, 80.}}) {
    add_row(gemm, {n, k, 1}, us);
    add_row(gemm, {n, k, 8}, us + 1);
  }
  ProfileTable decode = table("attn_decode", {{"kv", "bf16"}, {"head_dim", "64"}, {"window", "0"}});
  ProfileTable prefill =
      table("attn_prefill", {{"kv", "bf16"}, {"head_dim", "64"}, {"window", "0"}});
  for (const std::int64_t batch : {1, 8}) {
    for (const std::int64_t length : {16, 64, 256}) {
      add_row(decode, {4, 2, batch, length}, 100. + static_cast<double>(batch * length) / 16);
      add_row(prefill, {4, 2, batch, length}, 200. + static_cast<double>(batch * length));
    }
  }
  p.tables = {gemm, decode, prefill};
  if (!elementwise) return p;
  ProfileTable norm = table("rmsnorm", {{"dtype", "bf16"}, {"residual", "yes"}});
  ProfileTable rope = table("rope", {{"dtype", "bf16"}, {"head_dim", "64"}});
  ProfileTable silu = table("silu_mul", {{"dtype", "bf16"}});
  ProfileTable write = table("kv_write", {{"kv", "bf16"}, {"head_dim", "64"}, {"page", "16"}});
  ProfileTable embed = table("embedding", {{"dtype", "bf16"}});
  ProfileTable sample = table("sampling", {{"dtype", "fp32"}, {"method", "greedy"}});
  for (const std::int64_t tokens : {1, 8}) {
    const double extra = tokens == 1 ? 0 : 0.5;
    add_row(norm, {256, tokens}, 3 + extra);
    add_row(rope, {4, 2, tokens}, 5 + extra);
    add_row(silu, {512, tokens}, 7 + extra);
    add_row(write, {2, tokens}, 11 + extra);
    add_row(embed, {256, tokens}, 13 + extra);
    add_row(sample, {1024, tokens}, 17 + extra);
  }
  p.tables.insert(p.tables.end(), {norm, rope, silu, write, embed, sample});
  return p;
}

double class_us(const StepCost& cost, OpClass op) {
  return cost.by_class_us[static_cast<std::size_t>(op)];
}

StepCost decode_of_8(const Profile& profile) {
  const ModelSpec model = dense_model("small", 3, kSmall, 256);
  GpuSpec gpu;
  gpu.name = "cpu";
  gpu.memory_bandwidth = 2e10;
  gpu.flops_bf16 = gpu.flops_fp32 = 8e10;
  CostOptions options{model, gpu, &profile};
  options.enforce_eager = true;
  return make_cost_model(options)->price(decode(8, 64));
}

TEST_CASE("measured norms, RoPE, KV writes and activations price the elementwise part",
          "[unit][cost]") {
  const Profile profile = own_profile(true);
  const StepCost step = decode_of_8(profile);
  // A layer: two norms, RoPE, KV write, activation; a step: embedding and the final norm.
  const double layer = 2 * 3.5 + 5.5 + 11.5 + 7.5;
  CHECK(class_us(step, OpClass::kElementwise) == Approx(3 * layer + 13.5 + 3.5).epsilon(1e-9));
  CHECK(class_us(step, OpClass::kLinear) == Approx(3 * (21. + 41 + 11 + 81)).epsilon(1e-9));
  CHECK(class_us(step, OpClass::kLmHead) == Approx(81 + 17.5).epsilon(1e-9));  // with the sampler
  CHECK(class_us(step, OpClass::kDecodeAttention) == Approx(3 * (100. + 32)).epsilon(1e-9));
  CHECK(step.coverage_us[static_cast<std::size_t>(Coverage::kMeasured)] ==
        Approx(step.gpu_us).epsilon(1e-9));
}

TEST_CASE("without all of those tables the data sheet prices them, as ever", "[unit][cost]") {
  Profile profile = own_profile(true);
  const StepCost bare = decode_of_8(own_profile(false));
  CHECK(bare.coverage_us[static_cast<std::size_t>(Coverage::kRoofline)] ==
        Approx(class_us(bare, OpClass::kElementwise)));
  CHECK(class_us(bare, OpClass::kLmHead) == Approx(81).epsilon(1e-9));
  std::erase_if(profile.tables, [](const ProfileTable& t) { return t.op == "rope"; });
  CHECK(decode_of_8(profile).gpu_us == bare.gpu_us);
}

TEST_CASE("every operator of our own has a price", "[unit][cost]") {
  for (const char* op : {"rmsnorm", "rope", "silu_mul", "kv_write", "embedding", "sampling",
                         "rejection_verify", "attn_prefill_past", "mla_decode", "ssm_update",
                         "gdn_update"}) {
    INFO(op);
    REQUIRE(has_price(op));
    ProfileTable t = table(op, {{"dtype", "bf16"}, {"kv", "bf16"}, {"head_dim", "64"},
                                {"state_dtype", "fp32"}, {"latent", "512"}, {"rope", "64"},
                                {"residual", "yes"}, {"window", "0"}});
    // Sizes that double along the last axis, times that follow.
    std::vector<std::int64_t> key(t.axes.size(), 16);
    for (const std::int64_t last : {16, 32, 128}) {
      key.back() = last;
      add_row(t, key, 2 + static_cast<double>(last) / 8);
    }
    const OperatorTable measured = measured_operator(t);
    const Priced held = measured.without_row(1, false);
    CHECK(held.from == Coverage::kInterpolated);
    CHECK(held.us == Approx(6).epsilon(0.25));
  }
}

}  // namespace
}  // namespace headway
