#include "sim/model/model_spec.h"

#include <cmath>

#include "sim/core/data_files.h"
#include "sim/model/hf_config.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

// Rounded to so many significant digits.
double rounded(double value, int digits) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) + 1 - digits);
  return std::round(value / unit) * unit;
}

TEST_CASE("every catalogue model counts to its published parameters", "[unit]") {
  const auto names = catalogue_names("models");
  CHECK(names.size() >= 36);
  for (const std::string& name : names) {
    const ModelSpec model = load_model(name, ".");
    INFO(name);
    CHECK(model.name == name);
    if (name.starts_with("toy-")) {  // nobody published one
      CHECK(model.source.starts_with("no checkpoint"));
      continue;
    }
    CHECK(model.source.starts_with("https://"));
    const bool otherwise =
        name == "deepseek-v3.2" || name == "nemotron-4-15b" || name == "dream-7b";
    if (otherwise) continue;  // below
    REQUIRE(model.published_parameters > 0);
    if (model.published_digits == 0) {
      CHECK(parameter_count(model) == model.published_parameters);
    } else {
      const auto count = static_cast<double>(parameter_count(model));
      CHECK(rounded(count, model.published_digits) ==
            Approx(static_cast<double>(model.published_parameters)).epsilon(1e-12));
    }
  }
}

// Published in another way than as the number of the model's parameters.
TEST_CASE("models that others count in another way", "[unit]") {
  // Dream was made from Qwen2.5 7B and has its shape.
  CHECK(load_model("dream-7b", ".").layers == load_model("qwen2.5-7b", ".").layers);
  CHECK(parameter_count(load_model("dream-7b", ".")) == 7615616512);
  // 685 billion with the layer of multi-token prediction, embedding and LM head repeated for it: a
  // MoE layer with V3.2's attention, a projection of 2 x 7168 to 7168, three norms.
  const ModelSpec v32 = load_model("deepseek-v3.2", ".");
  const std::int64_t mtp = parameter_breakdown(v32.layers.back(), 7168).total() +
                           2 * 7168LL * 7168 + 3 * 7168 + 2 * 129280LL * 7168;
  CHECK(rounded(static_cast<double>(parameter_count(v32) + mtp), 3) == Approx(685e9));
  // 12.5 billion that are no embeddings (arXiv 2402.16819).
  const ModelSpec nemotron = load_model("nemotron-4-15b", ".");
  const ParameterBreakdown p = parameter_breakdown(nemotron);
  CHECK(rounded(static_cast<double>(p.total() - p.embedding - p.lm_head), 3) == Approx(12.5e9));
}

TEST_CASE("published counts, written here a second time", "[unit]") {
  const std::pair<const char*, std::int64_t> rows[] = {
      {"llama-2-7b", 6738415616},          {"llama-2-13b", 13015864320},
      {"llama-2-70b", 68976648192},        {"llama-3.1-8b", 8030261248},
      {"llama-3.1-70b", 70553706496},      {"llama-3.2-1b", 1235814400},
      {"qwen3-14b", 14768307200},          {"qwen3-32b", 32762123264},
      {"mistral-7b", 7248023552},          {"deepseek-v3", 671026419200},
      {"deepseek-v2", 235741434880},       {"deepseek-v2-lite", 15706484224},
      {"gpt-oss-120b", 116829156672},      {"gpt-oss-20b", 20914757184},
      {"gemma-3-27b", 27009346304},        {"gemma-2-27b", 27227128320},
      {"qwen3-next-80b-a3b", 79674391296}, {"qwen3-235b-a22b", 235093634560},
      {"mixtral-8x7b", 46702792704},       {"llama-3.1-405b", 405853388800},
      {"qwen3-30b-a3b", 30532122624},      {"toy-llama-12m", 11652768},
      {"toy-llama-110m", 124668672}};
  for (const auto& [name, count] : rows) {
    INFO(name);
    CHECK(parameter_count(load_model(name, ".")) == count);
  }
}

// lecture: 2VD + 3DFL + (2DNH + 2DKH)L with V 32000, D 5120, F 13824, N 40, H 128, L 40.
TEST_CASE("the textbook formula leaves out norms and nothing else of Llama 2 13B", "[unit]") {
  const ModelSpec mha = load_model("llama-2-13b", ".");
  CHECK(matrix_parameter_count(mha) == 13015449600);
  CHECK(parameter_count(mha) - matrix_parameter_count(mha) == (2 * 40 + 1) * 5120);
  const ModelSpec gqa = with_overrides(mha, "num_key_value_heads", "8");
  CHECK(matrix_parameter_count(gqa) == 11337728000);
  CHECK(gqa.published_parameters == 0);
}

TEST_CASE("active parameters of a mixture of experts", "[unit]") {
  const ModelSpec moe = load_model("qwen3-30b-a3b", ".");
  // 120 of 128 experts idle, 3 matrices of 2048 x 768 each, 48 layers; the card says 3.3 B.
  CHECK(active_parameter_count(moe) == 30532122624 - 48LL * 120 * 3 * 2048 * 768);
  CHECK(static_cast<double>(active_parameter_count(moe)) == Approx(3.3e9).epsilon(0.02));
  // The card counts 3.61 and 5.13 billion, without the input embedding.
  const auto active = [](const char* name) {
    const ModelSpec m = load_model(name, ".");
    return static_cast<double>(active_parameter_count(m) - parameter_breakdown(m).embedding);
  };
  CHECK(rounded(active("gpt-oss-20b"), 3) == Approx(3.61e9));
  CHECK(rounded(active("gpt-oss-120b"), 3) == Approx(5.13e9));
  const ModelSpec dense = load_model("qwen3-14b", ".");
  CHECK(active_parameter_count(dense) == parameter_count(dense));
}

TEST_CASE("keys and values follow the KV heads and the head size that was read", "[unit]") {
  // 2 x layers x KV heads x head_dim x bytes.
  CHECK(kv_bytes_per_token(load_model("llama-3.1-8b", "."), DType::kBf16) == 131072);
  CHECK(kv_bytes_per_token(load_model("qwen3-14b", "."), DType::kBf16) == 163840);
  CHECK(kv_bytes_per_token(load_model("qwen3-30b-a3b", "."), DType::kBf16) == 98304);
  CHECK(kv_bytes_per_token(load_model("qwen3-30b-a3b", "."), DType::kFp8) == 49152);
}

// arXiv 2505.09343, table 1, in kB; arXiv 2405.04434, table 1, in elements.
TEST_CASE("KV bytes per token as published", "[unit]") {
  CHECK(kv_bytes_per_token(load_model("deepseek-v3", "."), DType::kBf16) == 70272);
  CHECK(kv_bytes_per_token(load_model("qwen2.5-72b", "."), DType::kBf16) == 327680);
  CHECK(kv_bytes_per_token(load_model("llama-3.1-405b", "."), DType::kBf16) == 516096);
  CHECK(kv_bytes_per_token(load_model("deepseek-v2", "."), DType::kFp8) / 1000 ==
        Approx(34.6).margin(0.05));
}

TEST_CASE("quantised weights keep embeddings and LM head at two bytes", "[unit]") {
  const ModelSpec model = load_model("llama-3.1-8b", ".");
  CHECK(weight_bytes(model, {}) == 2.0 * 8030261248);
  const double ends_and_norms = 2.0 * (2LL * 128256 * 4096 + 65 * 4096);
  const double layers = 8030261248.0 - ends_and_norms / 2;
  CHECK(weight_bytes(model, {DType::kFp8, DType::kFp8, DType::kBf16}) == layers + ends_and_norms);
  CHECK(weight_bytes(model, {DType::kInt4, DType::kBf16, DType::kBf16}) ==
        layers * (0.5 + 2.0 / 128) + ends_and_norms);  // a 16-bit scale for every 128
  CHECK(weight_bytes(model, {DType::kFp32, DType::kFp32, DType::kBf16}) == 4.0 * 8030261248);
}

}  // namespace
}  // namespace headway
