#include "sim/model/pruning.h"

#include <cmath>

#include "tests/unit/model/config_text.h"

namespace headway {
namespace {

InputError::Parts pruning_refusal(const std::string& model, const std::string& pruning) {
  try {
    with_overrides(load_model(model, "."), "pruning", pruning);
  } catch (const InputError& e) {
    return e.parts();
  }
  FAIL("accepted: " << pruning);
  return {};
}

TEST_CASE("pruning: every preset has its published shape and count", "[unit]") {
  struct Row {
    const char* preset;
    std::int32_t layers, hidden, heads, kv_heads, head_dim, intermediate;
    double parameters;  // as the card or paper rounds them; 0 = not given there
    int digits;
  };
  const Row rows[] = {
      {"llama-3.1-minitron-4b-width", 32, 3072, 32, 8, 128, 9216, 4.51e9, 3},
      {"llama-3.1-minitron-4b-depth", 16, 4096, 32, 8, 128, 14336, 4.5e9, 2},
      {"minitron-8b", 32, 4096, 48, 8, 128, 16384, 8e9, 1},
      {"sheared-llama-1.3b", 24, 2048, 16, 16, 128, 5504, 1.3e9, 2},
      {"sheared-llama-2.7b", 32, 2560, 20, 20, 128, 6912, 2.7e9, 2},
      {"shortgpt-llama-2-7b", 23, 4096, 32, 32, 128, 11008, 0, 0},
  };
  CHECK(pruning_presets().size() == std::size(rows));
  for (const Row& row : rows) {
    INFO(row.preset);
    const PruningPreset* preset = nullptr;
    for (const PruningPreset& p : pruning_presets()) {
      if (std::string(row.preset) == p.name) preset = &p;
    }
    REQUIRE(preset != nullptr);
    const ModelSpec model = with_overrides(load_model(preset->base, "."), "pruning", row.preset);
    CHECK(model.name == row.preset);
    CHECK(model.source.starts_with("https://"));
    CHECK(model.num_hidden_layers() == row.layers);
    CHECK(model.hidden_size == row.hidden);
    CHECK(model.layers.size() == static_cast<std::size_t>(row.layers));
    for (const LayerSpec& layer : model.layers) {
      CHECK(layer.mixer.heads == row.heads);
      CHECK(layer.mixer.kv_heads == row.kv_heads);
      CHECK(layer.mixer.head_dim == row.head_dim);
      CHECK(layer.mlp.intermediate == row.intermediate);
    }
    CHECK(static_cast<double>(model.published_parameters) == row.parameters);
    CHECK(model.published_digits == row.digits);
    if (row.digits == 0) continue;
    const auto count = static_cast<double>(parameter_count(model));
    const double unit = std::pow(10.0, std::floor(std::log10(count)) + 1 - row.digits);
    CHECK(std::round(count / unit) * unit == Approx(row.parameters).epsilon(1e-12));
  }
}

TEST_CASE("pruning: what a part that goes was worth", "[unit]") {
  const ModelSpec base = load_model("llama-3.1-8b", ".");
  const auto count = [&](const std::string& what) {
    return parameter_count(base) - parameter_count(with_overrides(base, "pruning", what));
  };
  const std::int64_t layer = 2LL * 4096 * 4096 + 2LL * 4096 * 1024 + 3LL * 4096 * 14336 + 2 * 4096;
  CHECK(count(R"({"num_hidden_layers": 24})") == 8 * layer);
  CHECK(count(R"({"drop_layers": [3, 4, 4]})") == 2 * layer);
  CHECK(count(R"({"intermediate_size": 7168})") == 32 * 3LL * 4096 * 7168);
  // Half the heads: queries and output. Half the KV heads: keys and values.
  CHECK(count(R"({"num_attention_heads": 16})") == 32 * 2LL * 4096 * 2048);
  CHECK(count(R"({"num_key_value_heads": 4})") == 32 * 2LL * 4096 * 512);
  const ModelSpec gqa = with_overrides(base, "pruning", R"({"num_key_value_heads": 4})");
  CHECK(kv_bytes_per_token(gqa, DType::kBf16) == 65536);
  CHECK(gqa.name == "llama-3.1-8b");
  CHECK(gqa.published_parameters == 0);
  const ModelSpec narrow = with_overrides(base, "pruning", R"({"hidden_size": 2048})");
  CHECK(narrow.layers[0].mixer.head_dim == 128);
  CHECK(parameter_breakdown(narrow).embedding * 2 == parameter_breakdown(base).embedding);
}

TEST_CASE("pruning: experts, and how wide they are", "[unit]") {
  const ModelSpec base = load_model("qwen3-30b-a3b", ".");
  const ModelSpec half = with_overrides(base, "pruning", R"({"num_experts": 64})");
  CHECK(parameter_breakdown(half).experts * 2 == parameter_breakdown(base).experts);
  CHECK(active_parameter_count(base) - active_parameter_count(half) == 48LL * 64 * 2048);
  const ModelSpec thin = with_overrides(base, "pruning", R"({"moe_intermediate_size": 384})");
  CHECK(parameter_breakdown(thin).experts * 2 == parameter_breakdown(base).experts);
  CHECK(pruning_refusal("qwen3-30b-a3b", R"({"num_experts": 4})").place ==
        "model.pruning.num_experts");
}

TEST_CASE("pruning: the deepest layers go first and the last one stays", "[unit]") {
  ModelSpec model = small_model("gemma2", R"(, "sliding_window": 64)");
  model.layers[5].norms = 5;  // to know it again
  Pruning pruning;
  pruning.num_hidden_layers = 3;
  const ModelSpec left = prune(model, pruning, "x");
  REQUIRE(left.layers.size() == 3);
  CHECK(left.layers[0] == model.layers[0]);
  CHECK(left.layers[1] == model.layers[1]);
  CHECK(left.layers[2] == model.layers[5]);
  pruning.num_hidden_layers = 1;
  CHECK(prune(model, pruning, "x").layers == std::vector<LayerSpec>{model.layers[0]});
  pruning.num_hidden_layers = 6;
  CHECK(prune(model, pruning, "x").layers == model.layers);
}

TEST_CASE("pruning: what cannot be is refused at its key", "[unit]") {
  const char* model = "llama-3.1-8b";
  CHECK(pruning_refusal(model, R"({"hidden_size": 8192})").place == "model.pruning.hidden_size");
  CHECK_THAT(pruning_refusal(model, R"({"hidden_size": 8192})").expected,
             ContainsSubstring("4096"));
  CHECK(pruning_refusal(model, R"({"num_attention_heads": 12})").place ==
        "model.pruning.num_attention_heads");
  CHECK(pruning_refusal(model, R"({"num_key_value_heads": 5})").place ==
        "model.pruning.num_key_value_heads");
  CHECK(pruning_refusal(model, R"({"drop_layers": [32]})").place == "model.pruning.drop_layers");
  CHECK(pruning_refusal(model, R"({"num_experts": 4})").place == "model.pruning.num_experts");
  CHECK(pruning_refusal(model, R"({"drop_layers": [1], "num_hidden_layers": 30})").place ==
        "model.pruning.num_hidden_layers");
  const auto typo = pruning_refusal(model, R"({"num_layers": 4})");
  CHECK(typo.place == "model.pruning.num_layers");
  CHECK_THAT(typo.expected, ContainsSubstring("num_hidden_layers"));
  CHECK_THAT(pruning_refusal(model, "minitron-9b").expected, ContainsSubstring("minitron-8b"));
  CHECK_THAT(pruning_refusal(model, "sheared-llama-1.3b").expected,
             ContainsSubstring("llama-2-7b"));
  CHECK(pruning_refusal("mamba2-2.7b", R"({"num_attention_heads": 4})").place ==
        "model.pruning.num_attention_heads");
  CHECK(pruning_refusal("mamba2-2.7b", R"({"intermediate_size": 4})").place ==
        "model.pruning.intermediate_size");
  CHECK(pruning_refusal(model, "[1]").place == "model.pruning");
}

TEST_CASE("pruning: a preset and an override work together, the override on the base", "[unit]") {
  const ModelSpec model =
      with_overrides(load_model("llama-2-7b", "."),
                     {{"pruning", R"({"num_hidden_layers": 16})"}, {"num_key_value_heads", "8"}});
  CHECK(model.num_hidden_layers() == 16);
  CHECK(model.layers[0].mixer.kv_heads == 8);
  // Once more, over what is there.
  CHECK(with_overrides(model, "tie_word_embeddings", "true").num_hidden_layers() == 16);
  CHECK(with_overrides(model, "pruning", "null").num_hidden_layers() == 32);
}

}  // namespace
}  // namespace headway
