#include <string>

#include "tests/unit/model/config_text.h"

namespace headway {
namespace {

// A letter a layer: d dense, m a mixture of experts.
std::string kinds(const ModelSpec& model) {
  std::string text;
  for (const LayerSpec& layer : model.layers) {
    text += layer.mlp.kind == MlpKind::kMoe ? 'm' : 'd';
  }
  return text;
}

const char* kExperts = R"(, "num_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32)";

std::string with_experts(const std::string& extra) { return kExperts + extra; }

TEST_CASE("config.json: which layers have experts", "[unit]") {
  CHECK(kinds(small_model("qwen3_moe", kExperts)) == "mmmmmm");
  CHECK(kinds(small_model("qwen3_moe", with_experts(R"(, "decoder_sparse_step": 2)"))) == "dmdmdm");
  CHECK(kinds(small_model("qwen3_moe", with_experts(R"(, "mlp_only_layers": [0, 5])"))) ==
        "dmmmmd");
  CHECK(kinds(small_model("llama", with_experts(R"(, "interleave_moe_layer_step": 3)"))) ==
        "ddmddm");
  CHECK(kinds(small_model("llama", with_experts(R"(, "first_k_dense_replace": 2)"))) == "ddmmmm");
  CHECK(kinds(small_model("llama", with_experts(R"(, "first_k_dense_replace": 1,
        "moe_layer_freq": 2)"))) == "ddmdmd");
  CHECK(kinds(small_model("llama", with_experts(R"(, "moe_layer_freq": [0, 1, 1, 0, 1, 1])"))) ==
        "dmmdmm");
  CHECK(kinds(small_model("qwen3_moe", R"(, "num_experts": 0)")) == "dddddd");
  CHECK(
      config_refusal(small_config("llama", with_experts(R"(, "moe_layer_freq": [0, 1])"))).place ==
      "moe_layer_freq");
}

TEST_CASE("config.json: dense layers among experts are as wide as intermediate_size", "[unit]") {
  const ModelSpec model = small_model("qwen3_moe", with_experts(R"(, "decoder_sparse_step": 2)"));
  const ParameterBreakdown p = parameter_breakdown(model);
  CHECK(p.mlp == 3 * 3 * 64 * 128);
  CHECK(p.experts == 3 * 8 * 3 * 64 * 32);
  CHECK(p.router == 3 * 64 * 8);
  // Six of eight experts are idle in each of three layers.
  CHECK(parameter_count(model) - active_parameter_count(model) == 3 * 6 * 3 * 64 * 32);
}

TEST_CASE("config.json: shared experts, with a gate and without", "[unit]") {
  const std::int64_t none = parameter_count(small_model("qwen2_moe", kExperts));
  // One of 96, and a logit from the hidden state.
  CHECK(parameter_count(
            small_model("qwen2_moe", with_experts(R"(, "shared_expert_intermediate_size": 96)"))) -
            none ==
        6 * (3 * 64 * 96 + 64));
  // DeepSeek: two as wide as the routed ones.
  const ModelSpec two = small_model("llama", R"(, "n_routed_experts": 8, "num_experts_per_tok": 2,
      "moe_intermediate_size": 32, "n_shared_experts": 2)");
  CHECK(two.layers[0].mlp.shared_intermediate == 64);
  CHECK_FALSE(two.layers[0].mlp.shared_gate);
}

TEST_CASE("config.json: a router's bias counts, and so do those of experts", "[unit]") {
  const char* experts = R"(, "num_local_experts": 8, "num_experts_per_tok": 2,
      "intermediate_size": 32)";
  const ModelSpec model = small_model("gpt_oss", experts);
  const MlpSpec& mlp = model.layers[0].mlp;
  CHECK(mlp.expert_intermediate == 32);
  CHECK(mlp.bias);
  CHECK(mlp.router_bias);
  // A sink a head; biases of queries, keys, values and output; of the router; of gate, up and down
  // in every expert.
  CHECK(parameter_breakdown(model).biases == 6 * (8 + 64 + 32 + 32 + 64 + 8 + 8 * (32 + 32 + 64)));
}

TEST_CASE("config.json: routing skew is a figure of ours", "[unit]") {
  CHECK(small_model("qwen3_moe", with_experts(R"(, "routing_skew": 0.8)"))
            .layers[0]
            .mlp.routing_skew == 0.8);
  CHECK(config_refusal(small_config("qwen3_moe", with_experts(R"(, "routing_skew": -1)"))).place ==
        "routing_skew");
}

TEST_CASE("config.json: more experts a token than there are", "[unit]") {
  CHECK(config_refusal(small_config("mixtral", R"(, "num_local_experts": 2,
        "num_experts_per_tok": 3)"))
            .place == "num_experts_per_tok");
}

}  // namespace
}  // namespace headway
