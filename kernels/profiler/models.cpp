#include "kernels/profiler/models.h"

#include <array>
#include <charconv>
#include <string_view>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/model/hf_config.h"

namespace headway::kernels {
namespace {

struct Toy {
  const char* name;
  const char* config;
};
constexpr std::array kToys{
    Toy{"toy-12m", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "num_hidden_layers": 6, "hidden_size": 288, "intermediate_size": 768,
        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 48, "vocab_size": 4096,
        "max_position_embeddings": 2048, "tie_word_embeddings": false})"},
    Toy{"toy-110m", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "num_hidden_layers": 12, "hidden_size": 768, "intermediate_size": 2048,
        "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 32000,
        "max_position_embeddings": 4096, "tie_word_embeddings": false})"}};

ModelSpec spec_of(const std::string& name) {
  for (const Toy& toy : kToys) {
    if (name != toy.name) continue;
    ModelSpec spec = parse_model(toy.config, toy.name);
    spec.name = toy.name;
    return spec;
  }
  return load_model(name, "", "command line", "--model");
}

// "tp4" -> 4.
std::int32_t ranks(const std::string& suffix) {
  std::int32_t value = 0;
  const char* end = suffix.data() + suffix.size();
  if (suffix.starts_with("tp")) {
    const auto [stop, error] = std::from_chars(suffix.data() + 2, end, value);
    if (error == std::errc{} && stop == end && value > 0) return value;
  }
  throw InputError({"command line", "--model", "\":" + suffix + "\"", "\":tpN\", as in :tp4"});
}

}  // namespace

ProfiledModel profiled_model(const std::string& name) {
  const std::size_t colon = name.rfind(":tp");
  const std::int32_t tp = colon == std::string::npos ? 1 : ranks(name.substr(colon + 1));
  ProfiledModel model;
  model.spec = spec_of(name.substr(0, colon));
  model.rank = rank_operators(model.spec, {}, tp, 1);
  model.label = model.spec.name + " tp " + std::to_string(tp);
  return model;
}

std::vector<std::string> default_models(const std::string& device_kind, bool quick) {
  if (device_kind == "cpu") return {"toy-12m", "toy-110m"};
  if (quick) return {"llama-3.1-8b"};
  return {"llama-3.1-8b", "qwen3-14b", "qwen3-32b:tp2", "llama-3.1-70b:tp8", "llama-3.2-1b"};
}

}  // namespace headway::kernels
