#include <cstdint>

#include "tests/unit/model/config_text.h"

namespace headway {
namespace {

TEST_CASE("config.json: embeddings are tied where the library ties them", "[unit]") {
  for (const char* type : {"llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe"}) {
    INFO(type);
    CHECK_FALSE(small_model(type).tie_word_embeddings);
  }
  CHECK(small_model("gemma2").tie_word_embeddings);
  CHECK(small_model("gemma3_text").tie_word_embeddings);
  CHECK_FALSE(small_model("gemma2", R"(, "tie_word_embeddings": false)").tie_word_embeddings);
}

TEST_CASE("config.json: Gemma 3 as published leaves most figures to its class", "[unit]") {
  // What google/gemma-3-4b-pt says of its text model, and nothing more.
  const ModelSpec model = parse_model(R"({"architectures": ["Gemma3ForConditionalGeneration"],
      "model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
      "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024},
      "vision_config": {"hidden_size": 1152}})",
                                      "gemma-3-4b/config.json");
  CHECK(model.vocab_size == 262208);
  CHECK(model.layers[0].mixer.heads == 8);
  CHECK(model.layers[0].mixer.kv_heads == 4);
  CHECK(model.layers[0].mixer.head_dim == 256);
  CHECK(model.max_position_embeddings == 131072);
  // The whole model has 4 300 079 472 with its vision tower; the text part is 3 880 263 168.
  CHECK(parameter_count(model) == 3880263168);
}

TEST_CASE("config.json: four norms a layer of Gemma, LayerNorms of Nemotron", "[unit]") {
  CHECK(parameter_breakdown(small_model("gemma2")).norms == 6 * 4 * 64 + 64);
  // A weight and a bias each; no gate in the MLP.
  CHECK(parameter_breakdown(small_model("nemotron")).norms == 6 * 4 * 64 + 2 * 64);
  CHECK(parameter_breakdown(small_model("nemotron")).mlp == 6 * 2 * 64 * 128);
}

TEST_CASE("config.json: Qwen3-Next mixes Gated DeltaNet and gated attention", "[unit]") {
  const char* keys = R"(, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
      "linear_key_head_dim": 16, "linear_value_head_dim": 8, "linear_conv_kernel_dim": 4,
      "num_experts": 0, "full_attention_interval": 3)";
  const ModelSpec model = small_model("qwen3_next", keys);
  CHECK(model.layers[0].mixer.kind == MixerKind::kGatedDeltaNet);
  CHECK(model.layers[2].mixer.kind == MixerKind::kAttention);
  CHECK(model.layers[5].mixer.output_gate);
  // Queries, keys, values and a gate; two numbers a value head; convolution over q, k, v; output.
  const std::int64_t key = 2 * 16, value = 4 * 8;
  CHECK(parameter_breakdown(model).state ==
        4 * (64 * (2 * key + 2 * value + 2 * 4) + 4 * (2 * key + value) + value * 64));
  // A state of 4 x 16 x 8 in 32 bits and three past inputs of the convolution in 16.
  const double state = 4 * 16 * 8 * 4 + 3 * (2 * key + value) * 2;
  CHECK(kv_bytes(model, DType::kBf16, 100) == 4 * state + 2 * 100 * 128);
  CHECK(kv_bytes_per_token(model, DType::kBf16) == 2 * 128);
  CHECK(config_refusal(
            small_config(
                "qwen3_next",
                std::string(keys) +
                    R"(, "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "mamba"])"))
            .place == "layer_types");
  CHECK(config_refusal(small_config("qwen3_next")).place == "linear_num_value_heads");
}

TEST_CASE("config.json: Mamba-2 in both of its spellings is one model", "[unit]") {
  const ModelSpec hf = parse_model(R"({"model_type": "mamba2", "hidden_size": 64, "expand": 2,
      "num_hidden_layers": 3, "vocab_size": 1000, "state_size": 16, "head_dim": 8,
      "num_heads": 16, "n_groups": 1, "conv_kernel": 4, "tie_word_embeddings": true})",
                                   "x.json");
  const ModelSpec ssm = parse_model(R"({"d_model": 64, "n_layer": 3, "vocab_size": 997,
      "ssm_cfg": {"layer": "Mamba2", "d_state": 16, "headdim": 8}, "pad_vocab_size_multiple": 8,
      "attn_layer_idx": [], "d_intermediate": 0})",
                                    "x.json");
  CHECK(ssm.vocab_size == 1000);
  CHECK(ssm.layers == hf.layers);
  CHECK(parameter_count(ssm) == parameter_count(hf));
  // [z, x, B, C, dt], convolution with its bias over x, B and C, three vectors a head, two norms.
  const std::int64_t inner = 128, conv = inner + 2 * 16;
  CHECK(parameter_count(hf) ==
        1000 * 64 + 64 +
            3 * (64 * (inner + conv + 16) + conv * 4 + conv + 3 * 16 + inner + 64 + inner * 64));
  CHECK(kv_bytes_per_token(hf, DType::kBf16) == 0);
  CHECK(kv_bytes(hf, DType::kBf16, 1e6) == 3 * (128 * 16 * 4 + 3 * 160 * 2));
}

TEST_CASE("config.json: Mamba that is not the second, or not alone, is refused", "[unit]") {
  const auto ssm = [](const std::string& extra) {
    return R"({"d_model": 64, "n_layer": 3, "vocab_size": 1000)" + extra + "}";
  };
  const auto first = config_refusal(ssm(R"(, "ssm_cfg": {"layer": "Mamba1"})"));
  CHECK(first.place == "ssm_cfg.layer");
  CHECK(first.expected == "Mamba2");
  CHECK(config_refusal(ssm(R"(, "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [1])")).place ==
        "attn_layer_idx");
  CHECK(config_refusal(ssm(R"(, "ssm_cfg": {"layer": "Mamba2", "headdim": 48})")).place ==
        "ssm_cfg.headdim");
  CHECK(config_refusal(R"({"model_type": "mamba2", "hidden_size": 64, "vocab_size": 1000,
        "num_hidden_layers": 3, "num_heads": 7, "n_groups": 1})")
            .place == "num_heads");
  CHECK(config_refusal(R"({"model_type": "mamba", "hidden_size": 64})").place == "model_type");
}

TEST_CASE("config.json: hybrids of Mamba-2 and attention", "[unit]") {
  const char* mamba = R"(, "mamba_n_heads": 16, "mamba_d_head": 8, "mamba_n_groups": 2,
      "mamba_d_state": 16)";
  const ModelSpec bamba =
      small_model("bamba", std::string(mamba) + R"(, "attn_layer_indices": [2])");
  CHECK(bamba.layers[1].mixer.kind == MixerKind::kMamba2);
  CHECK(bamba.layers[2].mixer.kind == MixerKind::kAttention);
  CHECK(bamba.layers[1].mlp.intermediate == 128);
  CHECK(config_refusal(small_config("bamba", mamba)).place == "attn_layer_indices");

  CHECK(config_refusal(small_config("bamba", std::string(mamba) + R"(, "attn_layer_indices": [2],
        "mamba_d_head": 4)"))
            .place == "mamba_n_heads");

  // Granite 4: a dense MLP where there are no experts, else one beside them; embeddings not tied.
  const std::string types = std::string(mamba) + R"(, "mamba_d_head": "auto",
      "shared_intermediate_size": 96, "layer_types": ["mamba", "mamba", "attention", "mamba",
      "mamba", "mamba"])";
  const ModelSpec dense = small_model("granitemoehybrid", types + R"(, "num_local_experts": 0)");
  CHECK(dense.layers[2].mixer.kind == MixerKind::kAttention);
  CHECK(dense.layers[0].mixer == bamba.layers[1].mixer);
  CHECK(dense.layers[0].mlp.intermediate == 96);
  CHECK_FALSE(dense.tie_word_embeddings);
  const ModelSpec sparse = small_model(
      "granitemoehybrid", types + R"(, "num_local_experts": 4, "num_experts_per_tok": 2)");
  CHECK(sparse.layers[0].mlp.shared_intermediate == 96);
  CHECK(sparse.layers[0].mlp.expert_intermediate == 128);
  CHECK(config_refusal(small_config("granitemoehybrid", std::string(mamba) + R"(, "layer_types":
        ["mamba", "mamba2", "attention", "mamba", "mamba", "mamba"])"))
            .place == "layer_types");

  // One mixer or one MLP a layer, by a letter.
  const char* keys = R"(, "mamba_num_heads": 16, "mamba_head_dim": 8, "n_groups": 2,
      "ssm_state_size": 16, "conv_kernel": 4)";
  const ModelSpec nemotron =
      small_model("nemotron_h", std::string(keys) + R"(, "hybrid_override_pattern": "M-M*-M")");
  CHECK(nemotron.layers[0].mixer.kind == MixerKind::kMamba2);
  CHECK(nemotron.layers[0].mlp.kind == MlpKind::kNone);
  CHECK(nemotron.layers[1].mixer.kind == MixerKind::kNone);
  CHECK_FALSE(nemotron.layers[1].mlp.gated);
  CHECK(nemotron.layers[3].mixer.kind == MixerKind::kAttention);
  CHECK(kv_bytes_per_token(nemotron, DType::kBf16) == 128);
  CHECK(config_refusal(small_config("nemotron_h",
                                    std::string(keys) + R"(, "hybrid_override_pattern": "M-MX-M")"))
            .found == "\"X\"");
}

// 8.1 and 9.78 billion by their cards.
TEST_CASE("config.json: published hybrids count to their cards", "[unit]") {
  const ModelSpec nemotron = parse_model(R"({"model_type": "nemotron_h", "num_hidden_layers": 52,
      "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
      "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
      "attention_head_dim": 128, "intermediate_size": 21504, "mamba_num_heads": 128,
      "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4,
      "vocab_size": 131072, "max_position_embeddings": 8192})",
                                         "Nemotron-H-8B/config.json");
  CHECK(static_cast<double>(parameter_count(nemotron)) == Approx(8.1e9).epsilon(0.005));
  const ModelSpec bamba = parse_model(R"({"model_type": "bamba", "num_hidden_layers": 32,
      "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
      "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 262144,
      "attn_layer_indices": [9, 18, 27], "mamba_n_heads": 128, "mamba_d_head": 64,
      "mamba_n_groups": 1, "mamba_d_state": 128})",
                                      "Bamba-9B/config.json");
  CHECK(static_cast<double>(parameter_count(bamba)) == Approx(9.78e9).epsilon(0.0005));
}

// A model of 100 million that was counted with the library itself (124 327 616), from its config.
TEST_CASE("config.json: LLaDA's own keys, and the count of a small one", "[unit]") {
  const ModelSpec model = parse_model(R"({"model_type": "llada", "d_model": 448, "n_heads": 7,
      "n_kv_heads": 7, "n_layers": 6, "mlp_hidden_size": 768, "max_sequence_length": 1024,
      "vocab_size": 126464, "weight_tying": false, "include_bias": false, "alibi": false})",
                                      "x.json");
  CHECK(parameter_count(model) == 124327616);
  CHECK(model.generation.diffusion());
  CHECK(model.generation.block_length == 32);
  CHECK(model.generation.refinement_steps == 32);
  const auto parts = config_refusal(R"({"model_type": "llada", "d_model": 448, "n_heads": 0,
      "n_layers": 6, "mlp_hidden_size": 768, "max_sequence_length": 1024, "vocab_size": 12})");
  CHECK(parts.place == "n_heads");  // as the file spells it
  CHECK_FALSE(small_model("qwen2").generation.diffusion());
  CHECK(small_model("Dream").generation.diffusion());
}

TEST_CASE("config.json: DeepSeek-V4 compresses its cache by layer", "[unit]") {
  const char* keys = R"(, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 16,
      "q_lora_rank": 24, "o_lora_rank": 10, "o_groups": 2, "sliding_window": 32,
      "n_routed_experts": 4,
      "num_experts_per_tok": 2, "moe_intermediate_size": 32, "index_topk": 5, "index_n_heads": 3,
      "index_head_dim": 6, "compress_ratios": [0, 128, 4, 128, 4, 128, 4])";
  const ModelSpec model = small_model("deepseek_v4", keys);
  const SparseSpec& csa = model.layers[2].mixer.sparse;
  CHECK(csa.compression == 4);
  CHECK(csa.top_k == 5);
  CHECK(model.layers[1].mixer.sparse.compression == 128);
  CHECK(model.layers[1].mixer.sparse.top_k == 0);
  CHECK(model.layers[0].mixer.sparse.compression == 1);
  CHECK(model.layers[0].mixer.window == 32);
  CHECK_FALSE(model.layers[0].mlp.router_bias);  // routes by token, not by score
  CHECK(model.layers[3].mlp.router_bias);
  // One vector of 16 a token for keys and values; every layer keeps 32 of them as they are.
  const double csa_token = (16 * 2 + 6) / 4.0, hca_token = 16 * 2 / 128.0;
  CHECK(kv_bytes_per_token(model, DType::kBf16) == 2 * csa_token + 3 * hca_token);
  CHECK(kv_bytes(model, DType::kBf16, 512) == 6 * 32 * 32 + 512 * (2 * csa_token + 3 * hca_token));
  // Attention of a layer without compression: queries through 24, one key, output through 2 x 10.
  const ParameterBreakdown first = parameter_breakdown(model.layers[0], 64);
  CHECK(first.attention == 64 * 24 + 24 * 128 + 64 * 16 + 128 * 10 + 20 * 64);
  const ParameterBreakdown hca = parameter_breakdown(model.layers[1], 64);
  CHECK(hca.attention - first.attention == 2 * 64 * 16);
  const ParameterBreakdown four = parameter_breakdown(model.layers[2], 64);
  CHECK(four.attention - first.attention == 2 * 64 * 32 + 24 * 3 * 6 + 64 * 3 + 2 * 64 * 12);
  CHECK(config_refusal(
            small_config("deepseek_v4", std::string(keys) + R"(, "compress_ratios": [0, 4])"))
            .place == "compress_ratios");
}

TEST_CASE("config.json: a checkpoint published quantised reads as its model", "[unit]") {
  const ModelSpec model =
      small_model("llama", R"(, "quantization_config": {"quant_method": "fp8"})");
  CHECK(model.checkpoint_format == "fp8");
  CHECK(parameter_count(model) == parameter_count(small_model("llama")));
  CHECK(small_model("llama").checkpoint_format.empty());
}

}  // namespace
}  // namespace headway
