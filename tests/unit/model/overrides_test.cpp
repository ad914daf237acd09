#include <algorithm>

#include "tests/unit/model/config_text.h"

namespace headway {
namespace {

InputError::Parts override_refusal(const char* model, const char* key, const char* value) {
  try {
    with_overrides(load_model(model, "."), key, value);
  } catch (const InputError& e) {
    return e.parts();
  }
  FAIL("accepted " << key << "=" << value);
  return {};
}

TEST_CASE("override: keys of every architecture", "[unit]") {
  const auto with = [](const char* model, const char* key, const char* value) {
    return with_overrides(load_model(model, "."), key, value);
  };
  CHECK(with("deepseek-v3", "kv_lora_rank", "256").layers[0].mixer.kv_lora_rank == 256);
  CHECK(with("deepseek-v3", "first_k_dense_replace", "0").layers[0].mlp.kind == MlpKind::kMoe);
  CHECK(with("gpt-oss-20b", "sliding_window", "null").layers[0].mixer.window == 0);
  CHECK(with("gemma-3-27b", "sliding_window_pattern", "2").layers[1].mixer.window == 0);
  CHECK(with("mamba2-2.7b", "state_size", "64").layers[0].mixer.state.key_dim == 64);
  CHECK(with("qwen3-next-80b-a3b", "full_attention_interval", "1").layers[0].mixer.is_attention());
  CHECK(with("llada-8b", "refinement_steps", "8").generation.refinement_steps == 8);
  CHECK(with("llama-2-13b", "sliding_window", "1024").layers[39].mixer.window == 1024);
  CHECK(with("llama-2-13b", "cla_share_factor", "2").layers[1].mixer.shares_kv);
  CHECK(override_refusal("mistral-7b-v0.1", "layer_types", R"(["full_attention"])").place ==
        "model.layer_types");
}

// "What if it were latent": 512 and the usual 64 of RoPE, heads as they were.
TEST_CASE("override: a model with grouped queries becomes one with latent attention", "[unit]") {
  const ModelSpec mla = with_overrides(load_model("llama-2-13b", "."), "kv_lora_rank", "512");
  CHECK(mla.layers[0].mixer.kind == MixerKind::kLatentAttention);
  CHECK(mla.layers[0].mixer.head_dim == 128 + 64);
  CHECK(kv_bytes_per_token(mla, DType::kBf16) == 40 * (512 + 64) * 2);
}

TEST_CASE("override: lists with an entry a layer follow the number of layers", "[unit]") {
  const std::string types = R"(, "sliding_window": 64, "layer_types": ["full_attention",
      "sliding_attention", "full_attention", "full_attention", "sliding_attention",
      "full_attention"])";
  const ModelSpec model = small_model("gemma3_text", types);
  const ModelSpec fewer = with_overrides(model, "num_hidden_layers", "4");
  REQUIRE(fewer.layers.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(fewer.layers[i] == model.layers[i]);
  const ModelSpec more = with_overrides(model, "num_hidden_layers", "9");
  REQUIRE(more.layers.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(more.layers[i] == model.layers[i % 6]);
}

TEST_CASE("override: several at once need not be right one by one", "[unit]") {
  const ModelSpec base = load_model("llama-3.1-8b", ".");
  const ModelSpec model =
      with_overrides(base, {{"num_attention_heads", "12"}, {"num_key_value_heads", "6"}});
  CHECK(model.layers[0].mixer.heads == 12);
  CHECK(model.layers[0].mixer.head_dim == 128);
  CHECK(model.name == "llama-3.1-8b");
  CHECK(model.source == base.source);
}

TEST_CASE("override: a key that the architecture has no use for is unknown", "[unit]") {
  const auto parts = override_refusal("mamba2-2.7b", "num_key_value_heads", "8");
  CHECK(parts.place == "model.num_key_value_heads");
  CHECK(parts.found == "an unknown key");
  CHECK_THAT(parts.expected, ContainsSubstring("state_size"));
  const std::vector<std::string> keys = model_keys(load_model("llama-3.1-8b", "."));
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  for (const char* key : {"num_key_value_heads", "sliding_window", "kv_lora_rank", "pruning"}) {
    CHECK(std::count(keys.begin(), keys.end(), key) == 1);
  }
  for (const char* key : {"model_type", "name", "published_parameters"}) {
    CHECK(std::count(keys.begin(), keys.end(), key) == 0);
  }
}

TEST_CASE("override: a wrong value says so at its key", "[unit]") {
  CHECK(override_refusal("llama-3.1-8b", "hidden_size", "-1").place == "model.hidden_size");
  CHECK(override_refusal("llama-3.1-8b", "hidden_size", "").place == "model.hidden_size");
  CHECK(override_refusal("llama-3.1-8b", "num_hidden_layers", "99999").place ==
        "model.num_hidden_layers");
  CHECK(override_refusal("llama-3.1-8b", "num_hidden_layers", "null").place ==
        "model.num_hidden_layers");
  CHECK(override_refusal("gemma-3-27b", "hidden_size", "x").place == "model.hidden_size");
}

}  // namespace
}  // namespace headway
