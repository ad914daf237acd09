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
    CHECK(model.source.starts_with("https://huggingface.co/"));
    if (name == "deepseek-v3.2") continue;  // published with a layer that is not of the model
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

TEST_CASE("published counts, written here a second time", "[unit]") {
  const std::pair<const char*, std::int64_t> rows[] = {
      {"llama-2-7b", 6738415616},    {"llama-2-13b", 13015864320},   {"llama-2-70b", 68976648192},
      {"llama-3.1-8b", 8030261248},  {"llama-3.1-70b", 70553706496}, {"llama-3.2-1b", 1235814400},
      {"qwen3-14b", 14768307200},    {"qwen3-32b", 32762123264},     {"mistral-7b", 7248023552},
      {"qwen3-30b-a3b", 30532122624}, {"toy-llama-12m", 11652768},    {"toy-llama-110m", 124668672}};
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
