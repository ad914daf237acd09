#include "sim/model/config_mlp.h"

#include <algorithm>
#include <string>

#include "sim/model/config_attention.h"

namespace headway {
namespace {

const char* count_key(const ConfigReader& c) {
  for (const char* key : {"num_local_experts", "n_routed_experts"}) {
    if (c.given(key)) return key;
  }
  return "num_experts";
}

MlpSpec read_dense(const ConfigReader& c) {
  MlpSpec mlp;
  mlp.intermediate = c.integer("intermediate_size", kWidest);
  mlp.bias = c.flag_or("mlp_bias", false);
  return mlp;
}

MlpSpec read_moe(const ConfigReader& c) {
  MlpSpec mlp;
  mlp.kind = MlpKind::kMoe;
  mlp.experts = c.integer(count_key(c), kMostExperts);
  mlp.experts_per_tok = c.integer("num_experts_per_tok", mlp.experts);
  mlp.expert_intermediate = c.present("moe_intermediate_size")
                                ? c.integer("moe_intermediate_size", kWidest)
                                : c.integer("intermediate_size", kWidest);
  mlp.bias = c.flag_or("mlp_bias", false);
  mlp.router_bias = c.flag_or("router_bias", false);
  mlp.routing_skew = c.number_or("routing_skew", 0, 16);
  if (c.given("shared_expert_intermediate_size")) {
    mlp.shared_intermediate = c.integer("shared_expert_intermediate_size", kWidest);
    mlp.shared_gate = true;
  } else {
    const std::int32_t shared = c.integer_or("n_shared_experts", 0, 64, 0);
    if (shared > 0 && mlp.expert_intermediate > kWidest / shared) {
      c.fail("n_shared_experts", std::to_string(shared),
             "shared experts of at most " + std::to_string(kWidest) + " together");
    }
    mlp.shared_intermediate = shared * mlp.expert_intermediate;
  }
  return mlp;
}

// Which layers have experts.
std::vector<bool> moe_layers(const ConfigReader& c, std::int32_t layers) {
  std::vector<bool> moe(static_cast<std::size_t>(layers), true);
  const std::int32_t dense_first = c.integer_or("first_k_dense_replace", 0, kMostLayers, 0);
  const std::int32_t step = c.integer_or(
      c.present("interleave_moe_layer_step") ? "interleave_moe_layer_step" : "decoder_sparse_step",
      1, kMostLayers);
  const std::vector<std::int32_t> dense = c.integers("mlp_only_layers", kMostLayers);
  std::vector<std::int32_t> listed;
  std::int32_t frequency = 1;
  if (c.is_list("moe_layer_freq")) {
    listed = c.integers("moe_layer_freq", 1);
    check_layer_list(c, "moe_layer_freq", listed.size(), layers);
  } else {
    frequency = c.integer_or("moe_layer_freq", 1, kMostLayers);
  }
  for (std::int32_t i = 0; i < layers; ++i) {
    const bool named = std::find(dense.begin(), dense.end(), i) != dense.end();
    const bool off = !listed.empty() && listed[static_cast<std::size_t>(i)] == 0;
    moe[static_cast<std::size_t>(i)] =
        i >= dense_first && i % frequency == 0 && (i + 1) % step == 0 && !named && !off;
  }
  return moe;
}

}  // namespace

std::vector<MlpSpec> read_mlps(const ConfigReader& c, std::int32_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  if (!c.given(count_key(c))) return std::vector<MlpSpec>(count, read_dense(c));
  const MlpSpec moe = read_moe(c);
  const std::vector<bool> chosen = moe_layers(c, layers);
  const bool mixed = std::find(chosen.begin(), chosen.end(), false) != chosen.end();
  // A config whose layers all have experts need not say how wide a dense MLP would be.
  const MlpSpec dense = mixed ? read_dense(c) : MlpSpec{};
  std::vector<MlpSpec> mlps;
  for (std::size_t i = 0; i < count; ++i) mlps.push_back(chosen[i] ? moe : dense);
  return mlps;
}

}  // namespace headway
