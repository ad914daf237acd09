#include "sim/model/hf_config.h"

#include <filesystem>
#include <fstream>

#include "sim/core/errors.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

// A small Llama config, with some keys replaced or added. `extra` begins with a comma.
std::string llama(const std::string& extra = "", const std::string& type = "llama") {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 2, "hidden_size": 64,
    "intermediate_size": 128, "num_attention_heads": 8, "vocab_size": 1000,
    "max_position_embeddings": 512)" +
         extra + "}";
}

InputError::Parts refusal(const std::string& text) {
  try {
    parse_model(text, "config.json");
  } catch (const InputError& e) {
    return e.parts();
  }
  FAIL("accepted: " << text);
  return {};
}

TEST_CASE("config.json: what is left out takes the library's default", "[unit]") {
  const ModelSpec model = parse_model(llama(), "some/where/tiny/config.json");
  CHECK(model.name == "tiny");
  CHECK(model.layers[0].mixer.kv_heads == 8);
  CHECK(model.layers[0].mixer.head_dim == 8);
  CHECK_FALSE(model.tie_word_embeddings);
  CHECK_FALSE(model.layers[0].mixer.qk_norm);
  CHECK_FALSE(model.is_moe());
  const ModelSpec null_values =
      parse_model(llama(R"(, "num_key_value_heads": null, "head_dim": null)"), "x.json");
  CHECK(null_values.layers[0].mixer.kv_heads == 8);
  CHECK(null_values.layers[0].mixer.head_dim == 8);
}

TEST_CASE("config.json: head_dim is read, not derived", "[unit]") {
  const ModelSpec model =
      parse_model(llama(R"(, "head_dim": 128, "num_key_value_heads": 2)"), "x.json");
  CHECK(model.layers[0].mixer.head_dim == 128);
  CHECK(kv_bytes_per_token(model, DType::kBf16) == 2.0 * 2 * 2 * 128 * 2);
  const auto refused = refusal(R"({"model_type": "llama", "num_hidden_layers": 2,
    "hidden_size": 100, "intermediate_size": 128, "num_attention_heads": 8, "vocab_size": 10,
    "max_position_embeddings": 512})");
  CHECK(refused.place == "head_dim");
}

TEST_CASE("config.json: tied embeddings count once", "[unit]") {
  const ModelSpec tied = parse_model(llama(R"(, "tie_word_embeddings": true)"), "x.json");
  const ModelSpec untied = parse_model(llama(), "x.json");
  CHECK(parameter_count(untied) - parameter_count(tied) == 1000 * 64);
}

TEST_CASE("config.json: the text part of a multi-modal model", "[unit]") {
  const std::string text = R"({"model_type": "mistral3", "tie_word_embeddings": true,
    "vision_config": {"hidden_size": 9999}, "text_config": )" +
                           llama("", "mistral") + "}";
  const ModelSpec model = parse_model(text, "x.json");
  CHECK(model.hidden_size == 64);
  CHECK(model.tie_word_embeddings);
  const auto refused =
      refusal(R"({"text_config": )" + llama(R"(, "vocab_size": -1)", "mistral") + "}");
  CHECK(refused.place == "text_config.vocab_size");
}

TEST_CASE("config.json: what only the model type tells", "[unit]") {
  CHECK(parse_model(llama("", "qwen3"), "x.json").layers[0].mixer.qk_norm);
  CHECK(parse_model(llama("", "qwen2"), "x.json").layers[0].mixer.qkv_bias);
  // Two query and two key norms of 8, two layers; biases of (64 + 2 x 64) in two layers.
  const std::int64_t plain = parameter_count(parse_model(llama(), "x.json"));
  const std::string head = R"(, "head_dim": 8)";  // qwen3's default is 128
  CHECK(parameter_count(parse_model(llama(head, "qwen3"), "x.json")) - plain == 2 * 2 * 8);
  CHECK(parameter_count(parse_model(llama("", "qwen2"), "x.json")) - plain == 2 * 3 * 64);
  const std::string nameless = R"({"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 2,
    "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 8, "vocab_size": 1000,
    "max_position_embeddings": 512})";
  CHECK(parse_model(nameless, "x.json").layers[0].mixer.qk_norm);
}

TEST_CASE("config.json: experts by Mixtral's and by Qwen's keys", "[unit]") {
  const ModelSpec mixtral = parse_model(
      llama(R"(, "num_local_experts": 8, "num_experts_per_tok": 2)", "mixtral"), "x.json");
  CHECK(mixtral.layers[0].mlp.experts == 8);
  CHECK(mixtral.layers[0].mlp.expert_intermediate == 128);
  const ModelSpec qwen = parse_model(
      llama(R"(, "num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 32,
            "decoder_sparse_step": 1, "mlp_only_layers": [])",
            "qwen3_moe"),
      "x.json");
  CHECK(qwen.layers[0].mlp.experts_per_tok == 4);
  CHECK(qwen.layers[0].mlp.expert_intermediate == 32);
  CHECK(parameter_breakdown(qwen).experts == 2LL * 16 * 3 * 64 * 32);
  CHECK(parameter_breakdown(qwen).mlp == 0);
}

TEST_CASE("config.json: what cannot be represented is refused by its key", "[unit]") {
  const std::pair<std::string, std::string> rows[] = {
      {"attention_chunk_size", "8192"},
      {"q_lora_rank", "1536"},
      {"v_head_dim", "64"},
      {"layer_types", R"(["full_attention", "linear_attention"])"},
      {"layer_types", R"(["full_attention"])"},
  };
  for (const auto& [key, value] : rows) {
    INFO(key << " " << value);
    const auto parts = refusal(llama(", \"" + key + "\": " + value));
    CHECK(parts.file == "config.json");
    CHECK(parts.place == key);
    CHECK_FALSE(parts.found.empty());
    CHECK_FALSE(parts.expected.empty());
  }
}

TEST_CASE("config.json: a window that never closes is no window", "[unit]") {
  CHECK_NOTHROW(parse_model(llama(R"(, "sliding_window": null)"), "x.json"));
  CHECK_NOTHROW(parse_model(llama(R"(, "sliding_window": 512)"), "x.json"));
  CHECK_NOTHROW(parse_model(
      llama(R"(, "sliding_window": 256, "use_sliding_window": false)", "qwen2"), "x.json"));
}

TEST_CASE("config.json: unknown architectures name the known ones", "[unit]") {
  const auto unknown = refusal(llama("", "rwkv7"));
  CHECK(unknown.place == "model_type");
  CHECK(unknown.found == "\"rwkv7\"");
  CHECK_THAT(unknown.expected, ContainsSubstring("qwen3_moe"));
  CHECK_THAT(refusal(llama("", "qwen")).expected, ContainsSubstring("did you mean"));
  CHECK(refusal("{}").place == "model_type");
  CHECK(refusal(R"({"architectures": ["MambaForCausalLM"]})").place == "architectures");
}

TEST_CASE("config.json: wrong values say what was found and what would be valid", "[unit]") {
  for (const char* bad : {"0", "-3", "2.5", "\"8\"", "[]", "{}", "true", "1e30"}) {
    INFO(bad);
    const auto parts = refusal(llama(std::string(R"(, "vocab_size": )") + bad));
    CHECK(parts.place == "vocab_size");
    CHECK_THAT(parts.expected, ContainsSubstring("a whole number from 1 to"));
  }
  CHECK(refusal(R"({"model_type": "llama", "hidden_size": 64})").place == "vocab_size");
  CHECK(refusal(llama(R"(, "num_hidden_layers": null)")).place == "num_hidden_layers");
  CHECK(refusal(llama(R"(, "num_key_value_heads": 3)")).place == "num_key_value_heads");
  CHECK(refusal(llama(R"(, "tie_word_embeddings": 1)")).place == "tie_word_embeddings");
}

TEST_CASE("config.json: broken JSON has a line and a column", "[unit]") {
  CHECK(refusal("{\n  \"model_type\": llama\n}").place == "line 2, column 17");
  CHECK(refusal("[1]").expected == "an object");
  CHECK(refusal("").place == "line 1, column 1");
}

TEST_CASE("a model by name, by file and by folder", "[unit]") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(HEADWAY_BUILD_DIR) / "hf_config_test/tiny";
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << llama();
  const std::string base = folder.parent_path().string();
  CHECK(load_model("tiny", base).name == "tiny");
  CHECK(load_model("tiny/config.json", base).hidden_size == 64);
  CHECK(load_model(folder.string(), "/nowhere").hidden_size == 64);
  CHECK(load_model("llama-2-7b", base).hidden_size == 4096);
  fs::remove_all(folder);
}

TEST_CASE("an unknown model names the nearest, where the user wrote it", "[unit]") {
  try {
    load_model("lama-3.1-8b", ".", "demo.json", "line 3: model");
    FAIL("accepted");
  } catch (const InputError& e) {
    CHECK(e.parts().file == "demo.json");
    CHECK(e.parts().place == "line 3: model");
    CHECK_THAT(e.parts().expected, ContainsSubstring("did you mean llama-3.1-8b?"));
  }
  CHECK_THROWS_AS(load_model("models/none/config.json", "."), InputError);
  CHECK_THROWS_AS(load_model("", "."), InputError);
}

TEST_CASE("a figure of the model may be overridden by its config key", "[unit]") {
  const ModelSpec base = load_model("llama-2-13b", ".");
  CHECK(with_overrides(base, "num_key_value_heads", "8").layers[0].mixer.kv_heads == 8);
  CHECK(with_overrides(base, "tie_word_embeddings", "true").tie_word_embeddings);
  CHECK(with_overrides(base, "num_hidden_layers", "20").layers[0].mixer.head_dim == 128);
  const auto refused = [&](const std::string& key, const std::string& value) {
    try {
      with_overrides(base, key, value);
    } catch (const InputError& e) {
      return e.parts();
    }
    FAIL("accepted " << key << "=" << value);
    return InputError::Parts{};
  };
  CHECK(refused("num_key_value_heads", "3").place == "model.num_key_value_heads");
  CHECK(refused("num_key_value_heads", "0").found == "0");
  CHECK(refused("num_key_value_heads", "8x").found == "\"8x\"");
  CHECK_THAT(refused("num_kv_heads", "8").expected, ContainsSubstring("num_key_value_heads"));
  CHECK_THAT(refused("tie_word_embeddings", "yes").expected, ContainsSubstring("true or false"));
}

}  // namespace
}  // namespace headway
