#include <cstdint>
#include <vector>

#include "tests/unit/model/config_text.h"

namespace headway {
namespace {

std::vector<std::int32_t> windows(const ModelSpec& model) {
  std::vector<std::int32_t> list;
  for (const LayerSpec& layer : model.layers) list.push_back(layer.mixer.window);
  return list;
}

using Windows = std::vector<std::int32_t>;

TEST_CASE("config.json: which layers have a window", "[unit]") {
  const char* w = R"(, "sliding_window": 64)";
  CHECK(windows(small_model("mistral", w)) == Windows(6, 64));
  CHECK(windows(small_model("mixtral", w)) == Windows(6, 64));
  CHECK(windows(small_model("mixtral")) == Windows(6, 0));
  // Mistral's own default is 4096, Gemma's too; both are wider than these 512 positions.
  CHECK(windows(small_model("mistral")) == Windows(6, 0));
  CHECK(windows(small_model("mistral", R"(, "max_position_embeddings": 8192)")) ==
        Windows(6, 4096));
  // Gemma 2 takes turns and begins with a window; Gemma 3 has full attention in every sixth.
  CHECK(windows(small_model("gemma2", w)) == Windows{64, 0, 64, 0, 64, 0});
  CHECK(windows(small_model("gemma3_text", w)) == Windows{64, 64, 64, 64, 64, 0});
  CHECK(windows(small_model("gemma3_text", R"(, "sliding_window": 64,
        "_sliding_window_pattern": 3)")) == Windows{64, 64, 0, 64, 64, 0});
  const char* pattern = R"(, "sliding_window": 64, "layer_types": ["full_attention",
      "sliding_attention", "full_attention", "full_attention", "sliding_attention",
      "full_attention"])";
  CHECK(windows(small_model("gemma3_text", pattern)) == Windows{0, 64, 0, 0, 64, 0});
}

TEST_CASE("config.json: Qwen keeps its windows switched off, and its first layers full", "[unit]") {
  CHECK(windows(small_model("qwen2", R"(, "sliding_window": 64)")) == Windows(6, 0));
  CHECK(windows(small_model("qwen3", R"(, "sliding_window": 64, "use_sliding_window": true,
        "max_window_layers": 4)")) == Windows{0, 0, 0, 0, 64, 64});
  // Of 28 first layers that are full by default, six are all.
  CHECK(windows(small_model("qwen2", R"(, "sliding_window": 64, "use_sliding_window": true)")) ==
        Windows(6, 0));
}

TEST_CASE("config.json: lists that do not fit their layers are refused", "[unit]") {
  const auto parts = config_refusal(
      small_config("gpt_oss", R"(, "layer_types": ["full_attention", "sliding_attention"])"));
  CHECK(parts.place == "layer_types");
  CHECK(parts.found == "a list of 2");
  CHECK_THAT(parts.expected, ContainsSubstring("6"));
  CHECK(config_refusal(small_config("qwen3", R"(, "layer_types": ["sliding_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
        "sliding_attention"])"))
            .place == "sliding_window");
  CHECK(config_refusal(small_config("gemma2", R"(, "sliding_window": "wide")")).place ==
        "sliding_window");
}

TEST_CASE("config.json: a windowed layer keeps the window's tokens and no more", "[unit]") {
  // Gemma 2, six layers: three keep 64 tokens, three keep all; 2 x 4 heads x 8 x 2 bytes a token.
  const ModelSpec model = small_model("gemma2", R"(, "sliding_window": 64)");
  CHECK(kv_bytes_per_token(model, DType::kBf16) == 3 * 128);
  CHECK(kv_bytes(model, DType::kBf16, 300) == 3 * 128 * 64 + 3 * 128 * 300);
  CHECK(kv_bytes(model, DType::kBf16, 10) == 6 * 128 * 10);
}

TEST_CASE("config.json: biases of attention", "[unit]") {
  const std::int64_t plain = parameter_count(small_model("llama"));
  // Queries 64, keys and values 32 each, the output 64 wide.
  CHECK(parameter_count(small_model("llama", R"(, "attention_bias": true)")) - plain ==
        6 * (64 + 32 + 32 + 64));
  CHECK(parameter_count(small_model("qwen2")) - plain == 6 * (64 + 32 + 32));
  // MLP: two of 128 and one of 64.
  CHECK(parameter_count(small_model("llama", R"(, "mlp_bias": true)")) - plain ==
        6 * (128 + 128 + 64));
}

TEST_CASE("config.json: latent attention, DeepSeek's way", "[unit]") {
  const char* mla = R"(, "kv_lora_rank": 32, "q_lora_rank": 48, "qk_nope_head_dim": 16,
      "qk_rope_head_dim": 4, "v_head_dim": 12, "head_dim": null)";
  const ModelSpec model = small_model("deepseek_v2", mla);
  const MixerSpec& m = model.layers[0].mixer;
  CHECK(m.kind == MixerKind::kLatentAttention);
  CHECK(m.heads == 8);
  CHECK(m.head_dim == 20);
  CHECK(m.v_head_dim == 12);
  CHECK(kv_bytes_per_token(model, DType::kBf16) == 6 * (32 + 4) * 2);
  // Down and up of the queries, down and up of keys and values, the output; norms of both latents.
  const std::int64_t matrices =
      64 * 48 + 48 * 8 * 20 + 64 * (32 + 4) + 32 * 8 * (16 + 12) + 8 * 12 * 64;
  CHECK(parameter_breakdown(model).attention == 6 * matrices);
  CHECK(parameter_breakdown(model).norms == 6 * (2 * 64 + 48 + 32) + 64);
  const ModelSpec lite = small_model("deepseek_v2", R"(, "kv_lora_rank": 32, "q_lora_rank": null,
      "qk_nope_head_dim": 16, "qk_rope_head_dim": 4, "v_head_dim": 12)");
  CHECK(parameter_breakdown(model).attention - parameter_breakdown(lite).attention ==
        6 * (64 * 48 + 48 * 160 - 64 * 160));
  CHECK(config_refusal(small_config("deepseek_v3")).place == "kv_lora_rank");
  CHECK(config_refusal(small_config("llama", R"(, "v_head_dim": 12)")).place == "v_head_dim");
}

TEST_CASE("config.json: the indexer of DeepSeek sparse attention", "[unit]") {
  const char* mla = R"(, "kv_lora_rank": 32, "q_lora_rank": 48, "qk_nope_head_dim": 16,
      "qk_rope_head_dim": 4, "v_head_dim": 12)";
  const std::string with_index = std::string(mla) + R"(, "index_topk": 7, "index_n_heads": 3,
      "index_head_dim": 10)";
  const ModelSpec plain = small_model("deepseek_v32", mla);
  const ModelSpec sparse = small_model("deepseek_v32", with_index);
  CHECK(sparse.layers[5].mixer.sparse.top_k == 7);
  // Queries from their latent, one key, a weight a head; a LayerNorm on the key.
  CHECK(parameter_count(sparse) - parameter_count(plain) ==
        6 * (48 * 3 * 10 + 64 * 10 + 64 * 3 + 2 * 10));
  CHECK(kv_bytes_per_token(sparse, DType::kBf16) - kv_bytes_per_token(plain, DType::kBf16) ==
        6 * 10);
  CHECK(config_refusal(small_config("deepseek_v32", std::string(mla) + R"(, "index_topk": 7,
        "index_n_heads": 3)"))
            .place == "index_head_dim");
}

TEST_CASE("config.json: layers that share keys and values", "[unit]") {
  const ModelSpec pairs = small_model("llama", R"(, "cla_share_factor": 2)");
  CHECK_FALSE(pairs.layers[0].mixer.shares_kv);
  CHECK(pairs.layers[1].mixer.shares_kv);
  CHECK(kv_bytes_per_token(pairs, DType::kBf16) == 3 * 2 * 4 * 8 * 2);
  // The layers that share have no projections of keys and values.
  CHECK(parameter_count(small_model("llama")) - parameter_count(pairs) == 3 * 2 * 64 * 32);
  const ModelSpec off = small_model("llama", R"(, "cla_share_factor": 2, "use_cla": false)");
  CHECK(kv_bytes_per_token(off, DType::kBf16) == 6 * 2 * 4 * 8 * 2);
  const ModelSpec last = small_model("llama", R"(, "num_kv_shared_layers": 4)");
  CHECK(kv_bytes_per_token(last, DType::kBf16) == 2 * 2 * 4 * 8 * 2);
  CHECK(config_refusal(small_config("llama", R"(, "num_kv_shared_layers": 6)")).place ==
        "num_kv_shared_layers");
}

TEST_CASE("config.json: a cache with an entry for several tokens", "[unit]") {
  const ModelSpec model = small_model("llama", R"(, "compress_ratio": 4, "index_topk": 16)");
  CHECK(kv_bytes_per_token(model, DType::kBf16) == 6 * 128 / 4.0);
  CHECK(model.layers[0].mixer.sparse.top_k == 16);
}

}  // namespace
}  // namespace headway
