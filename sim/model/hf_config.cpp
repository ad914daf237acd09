#include "sim/model/hf_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/json_file.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What cannot be told from the config's own keys.
struct Architecture {
  const char* model_type;
  const char* class_name;  // in `architectures`, when model_type is missing
  bool qk_norm;
  bool qkv_bias;  // always there, whatever `attention_bias` says
};
constexpr std::array kArchitectures{
    Architecture{"llama", "LlamaForCausalLM", false, false},
    Architecture{"mistral", "MistralForCausalLM", false, false},
    Architecture{"mixtral", "MixtralForCausalLM", false, false},
    Architecture{"qwen2", "Qwen2ForCausalLM", false, true},
    Architecture{"qwen3", "Qwen3ForCausalLM", true, false},
    Architecture{"qwen3_moe", "Qwen3MoeForCausalLM", true, false},
    Architecture{"qwen3_vl_text", "", true, false},
    Architecture{"qwen3_vl_moe_text", "", true, false},
};

// The figures that a config has at its top level.
struct Figures {
  std::int32_t num_hidden_layers = 0, hidden_size = 0, intermediate_size = 0;
  std::int32_t num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
  std::int32_t vocab_size = 0, max_position_embeddings = 0;
  std::int32_t num_experts = 0, num_experts_per_tok = 0, moe_intermediate_size = 0;
  bool tie_word_embeddings = false;
};

// The integers of a config. Bounds keep every product below 2^63 and are far above any model.
struct IntegerKey {
  const char* key;
  std::int32_t Figures::*member;
  std::int32_t largest;
  bool moe;  // only read of a mixture of experts
};
constexpr std::int32_t kWidest = 1 << 20;
constexpr std::array kIntegerKeys{
    IntegerKey{"num_hidden_layers", &Figures::num_hidden_layers, 1 << 12, false},
    IntegerKey{"hidden_size", &Figures::hidden_size, kWidest, false},
    IntegerKey{"intermediate_size", &Figures::intermediate_size, kWidest, false},
    IntegerKey{"num_attention_heads", &Figures::num_attention_heads, 1 << 14, false},
    IntegerKey{"num_key_value_heads", &Figures::num_key_value_heads, 1 << 14, false},
    IntegerKey{"head_dim", &Figures::head_dim, 1 << 14, false},
    IntegerKey{"vocab_size", &Figures::vocab_size, 1 << 24, false},
    IntegerKey{"max_position_embeddings", &Figures::max_position_embeddings, 1 << 30, false},
    IntegerKey{"num_experts", &Figures::num_experts, 1 << 14, true},
    IntegerKey{"num_experts_per_tok", &Figures::num_experts_per_tok, 1 << 14, true},
    IntegerKey{"moe_intermediate_size", &Figures::moe_intermediate_size, kWidest, true},
};
struct FlagKey {
  const char* key;
  bool Figures::*member;
};
constexpr std::array kFlagKeys{FlagKey{"tie_word_embeddings", &Figures::tie_word_embeddings}};

// Keys that change what a layer computes in a way a ModelSpec does not hold. Absent, null, false,
// 0 and an empty list mean "not used".
struct RefusedKey {
  const char* key;
  const char* expected;
};
constexpr std::array kRefusedKeys{
    RefusedKey{"kv_lora_rank", "no latent attention (MLA), which is not modelled yet"},
    RefusedKey{"q_lora_rank", "no latent attention (MLA), which is not modelled yet"},
    RefusedKey{"qk_rope_head_dim", "no latent attention (MLA), which is not modelled yet"},
    RefusedKey{"v_head_dim", "values as wide as keys"},
    RefusedKey{"index_topk", "no sparse attention, which is not modelled yet"},
    RefusedKey{"attention_chunk_size", "no chunked local attention, which is not modelled yet"},
    RefusedKey{"num_kv_shared_layers", "no keys and values shared by layers"},
    RefusedKey{"hybrid_override_pattern", "attention in every layer"},
    RefusedKey{"layers_block_type", "attention in every layer"},
    RefusedKey{"full_attention_interval", "attention in every layer"},
    RefusedKey{"linear_num_value_heads", "no linear attention, which is not modelled yet"},
    RefusedKey{"ssm_cfg", "no state space layers, which are not modelled yet"},
    RefusedKey{"state_size", "no state space layers, which are not modelled yet"},
    RefusedKey{"mamba_d_state", "no state space layers, which are not modelled yet"},
    RefusedKey{"n_shared_experts", "no shared experts, which are not modelled yet"},
    RefusedKey{"num_shared_experts", "no shared experts, which are not modelled yet"},
    RefusedKey{"shared_expert_intermediate_size", "no shared experts, which are not modelled yet"},
    RefusedKey{"n_routed_experts", "num_experts or num_local_experts"},
    RefusedKey{"first_k_dense_replace", "the same kind of MLP in every layer"},
    RefusedKey{"mlp_only_layers", "the same kind of MLP in every layer"},
    RefusedKey{"mlp_bias", "no biases in the MLP"},
    RefusedKey{"quantization_config",
               "the config of the unquantised model; give the format in the scenario's "
               "precision.weights"},
};

class ConfigReader {
 public:
  ConfigReader(const Json& document, std::string file) : file_(std::move(file)) {
    const auto nested = document.find("text_config");
    nested_ = nested != document.end() && nested->is_object();
    config_ = nested_ ? *nested : document;
    if (nested_ && !config_.contains("tie_word_embeddings") &&
        document.contains("tie_word_embeddings")) {
      config_["tie_word_embeddings"] = document["tie_word_embeddings"];
    }
    if (nested_ && !config_.contains("quantization_config") &&
        document.contains("quantization_config")) {
      config_["quantization_config"] = document["quantization_config"];
    }
  }

  ModelSpec read() const {
    const Architecture& architecture = find_architecture();
    for (const RefusedKey& row : kRefusedKeys) {
      if (given(row.key)) fail(row.key, describe_json(config_[row.key]), row.expected);
    }
    refuse_windows();
    if (!architecture.qkv_bias && given("attention_bias")) {
      fail("attention_bias", "true", "false: an output bias is not modelled yet");
    }
    Figures figures;
    read_shape(figures);
    read_experts(figures);
    for (const FlagKey& row : kFlagKeys) figures.*row.member = flag(row.key);
    check_heads(figures);
    return model_of(figures, architecture);
  }

  std::string text(const Json& document, const char* key) const {
    const auto it = document.find(key);
    if (it == document.end()) return "";
    if (!it->is_string()) fail(key, describe_json(*it), "a text");
    return it->get<std::string>();
  }

  [[noreturn]] void fail(const std::string& key, const std::string& found,
                         const std::string& expected) const {
    throw InputError({file_, (nested_ ? "text_config." : "") + key, found, expected});
  }

 private:
  bool present(const char* key) const { return config_.contains(key) && !config_[key].is_null(); }
  bool given(const char* key) const {
    if (!present(key)) return false;
    const Json& value = config_[key];
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value.get<double>() != 0;
    return !value.empty();
  }

  const Architecture& find_architecture() const {
    std::vector<std::string> names;
    for (const Architecture& row : kArchitectures) names.emplace_back(row.model_type);
    if (present("model_type")) {
      const std::string type = text(config_, "model_type");
      for (const Architecture& row : kArchitectures) {
        if (type == row.model_type) return row;
      }
      fail("model_type", "\"" + type + "\"", one_of(type, names));
    }
    if (present("architectures") && config_["architectures"].is_array()) {
      for (const Json& name : config_["architectures"]) {
        for (const Architecture& row : kArchitectures) {
          if (name.is_string() && name == row.class_name) return row;
        }
        fail("architectures", describe_json(name), "a model_type: " + one_of("", names));
      }
    }
    fail("model_type", "nothing", one_of("", names));
  }

  void refuse_windows() const {
    const bool off = present("use_sliding_window") && !flag("use_sliding_window");
    if (given("sliding_window") && !off) {
      const std::int64_t window = integer("sliding_window", std::numeric_limits<int>::max());
      const std::int64_t longest = integer("max_position_embeddings", 1 << 30);
      if (window < longest) {
        fail("sliding_window", std::to_string(window),
             "null, or at least max_position_embeddings (" + std::to_string(longest) +
                 "): sliding windows are not modelled yet");
      }
    }
    if (!present("layer_types") || !config_["layer_types"].is_array()) return;
    for (const Json& type : config_["layer_types"]) {
      if (type != "full_attention") {
        fail("layer_types", describe_json(type), "\"full_attention\" in every layer");
      }
    }
  }

  ModelSpec model_of(const Figures& f, const Architecture& architecture) const {
    LayerSpec layer =
        dense_layer(f.num_attention_heads, f.num_key_value_heads, f.head_dim, f.intermediate_size);
    layer.mixer.qk_norm = architecture.qk_norm;
    layer.mixer.qkv_bias = architecture.qkv_bias;
    if (f.num_experts > 0) {
      layer.mlp.kind = MlpKind::kMoe;
      layer.mlp.intermediate = 0;
      layer.mlp.experts = f.num_experts;
      layer.mlp.experts_per_tok = f.num_experts_per_tok;
      layer.mlp.expert_intermediate = f.moe_intermediate_size;
    }
    ModelSpec model;
    model.hidden_size = f.hidden_size;
    model.vocab_size = f.vocab_size;
    model.max_position_embeddings = f.max_position_embeddings;
    model.tie_word_embeddings = f.tie_word_embeddings;
    model.layers = alike_layers(f.num_hidden_layers, layer);
    Json resolved = config_;
    resolved["head_dim"] = f.head_dim;
    resolved["num_key_value_heads"] = f.num_key_value_heads;
    model.config = resolved.dump();
    return model;
  }

  std::int64_t integer(const char* key, std::int64_t largest) const {
    if (!present(key)) fail(key, "nothing", "a whole number from 1 to " + std::to_string(largest));
    const Json& value = config_[key];
    const bool fits = value.is_number_integer() && value >= 1 && value <= largest;
    if (!fits) {
      fail(key, describe_json(value), "a whole number from 1 to " + std::to_string(largest));
    }
    return value.get<std::int64_t>();
  }

  bool flag(const char* key) const {
    if (!present(key)) return false;
    if (!config_[key].is_boolean()) fail(key, describe_json(config_[key]), "true or false");
    return config_[key].get<bool>();
  }

  void read_shape(Figures& model) const {
    for (const IntegerKey& row : kIntegerKeys) {
      const std::string key = row.key;
      if (row.moe || key == "num_key_value_heads" || key == "head_dim") continue;
      model.*row.member = static_cast<std::int32_t>(integer(row.key, row.largest));
    }
    model.num_key_value_heads =
        present("num_key_value_heads")
            ? static_cast<std::int32_t>(integer("num_key_value_heads", 1 << 14))
            : model.num_attention_heads;
    if (present("head_dim")) {
      model.head_dim = static_cast<std::int32_t>(integer("head_dim", 1 << 14));
    } else if (model.hidden_size % model.num_attention_heads == 0) {
      model.head_dim = model.hidden_size / model.num_attention_heads;
    } else {
      fail("head_dim", "nothing", "a number, as num_attention_heads does not divide hidden_size");
    }
  }

  // Mixtral says num_local_experts and keeps the experts' width in intermediate_size.
  void read_experts(Figures& model) const {
    const char* count_key = present("num_local_experts") ? "num_local_experts" : "num_experts";
    if (!given(count_key)) return;
    model.num_experts = static_cast<std::int32_t>(integer(count_key, 1 << 14));
    model.num_experts_per_tok =
        static_cast<std::int32_t>(integer("num_experts_per_tok", model.num_experts));
    model.moe_intermediate_size =
        present("moe_intermediate_size")
            ? static_cast<std::int32_t>(integer("moe_intermediate_size", kWidest))
            : model.intermediate_size;
    if (present("decoder_sparse_step") && integer("decoder_sparse_step", 1 << 12) != 1) {
      fail("decoder_sparse_step", describe_json(config_["decoder_sparse_step"]),
           "1: experts in every layer");
    }
  }

  void check_heads(const Figures& model) const {
    if (model.num_attention_heads % model.num_key_value_heads != 0) {
      fail("num_key_value_heads", std::to_string(model.num_key_value_heads),
           "a divisor of num_attention_heads (" + std::to_string(model.num_attention_heads) + ")");
    }
  }

  Json config_;
  std::string file_;
  bool nested_ = false;
};

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json") || text == "." ||
         text == "..";
}

}  // namespace

ModelSpec parse_model(const std::string& text, const std::string& file) {
  const Json document = parse_json_object(text, file);
  const ConfigReader reader(document, file);
  ModelSpec model = reader.read();
  model.name = reader.text(document, "name");
  model.source = reader.text(document, "source");
  if (model.name.empty()) model.name = reader.text(document, "_name_or_path");
  if (model.name.empty()) {
    const fs::path path = file;
    const bool plain = path.filename() == "config.json" && path.has_parent_path();
    model.name = plain ? path.parent_path().filename().string() : path.stem().string();
  }
  const auto published = document.find("published_parameters");
  if (published != document.end()) {
    if (!published->is_number_unsigned()) {
      reader.fail("published_parameters", describe_json(*published), "a whole number");
    }
    model.published_parameters = published->get<std::int64_t>();
  }
  return model;
}

ModelSpec load_model(const std::string& name_or_path, const std::string& base_folder,
                     const std::string& file, const std::string& place) {
  const std::vector<std::string> names = catalogue_names("models");
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    const std::string path = (fs::path(data_folder("models")) / (name_or_path + ".json")).string();
    return parse_model(read_whole_file(path), path);
  }
  fs::path path = fs::path(base_folder) / name_or_path;
  std::error_code ec;
  if (!name_or_path.empty() && fs::is_directory(path, ec)) path /= "config.json";
  if (!name_or_path.empty() && fs::exists(path, ec)) {
    return parse_model(read_whole_file(path.string()), path.string());
  }
  if (looks_like_path(name_or_path)) {
    throw InputError({file, place, "\"" + name_or_path + "\", where no file is",
                      "a Hugging Face config.json, its folder, or a catalogue name (" +
                          one_of("", names) + ")"});
  }
  throw InputError({file, place, "\"" + name_or_path + "\"",
                    one_of(name_or_path, names) + ", or the path of a Hugging Face config.json"});
}

std::vector<std::string> model_keys() {
  std::vector<std::string> keys;
  for (const IntegerKey& row : kIntegerKeys) keys.emplace_back(row.key);
  for (const FlagKey& row : kFlagKeys) keys.emplace_back(row.key);
  return keys;
}

namespace {

Json override_value(const std::string& key, const std::string& value, const std::string& file) {
  const std::string place = "model." + key;
  for (const FlagKey& row : kFlagKeys) {
    if (key != row.key) continue;
    if (value == "true" || value == "false") return value == "true";
    throw InputError({file, place, "\"" + value + "\"", "true or false"});
  }
  for (const IntegerKey& row : kIntegerKeys) {
    if (key != row.key) continue;
    const std::int32_t lowest = key == "num_experts" ? 0 : 1;  // 0 experts: a dense model
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    if (whole && number >= lowest && number <= row.largest) return number;
    throw InputError(
        {file, place, "\"" + value + "\"",
         "a whole number from " + std::to_string(lowest) + " to " + std::to_string(row.largest)});
  }
  throw InputError({file, place, "an unknown key", one_of(key, model_keys())});
}

}  // namespace

ModelSpec with_overrides(ModelSpec model, const std::string& key, const std::string& value,
                         const std::string& file) {
  SIM_CHECK(!model.config.empty(), "a model that was read from a config.json");
  Json config = Json::parse(model.config);
  config[key] = override_value(key, value, file);
  try {
    ModelSpec changed = parse_model(config.dump(), file);
    changed.name = model.name;
    changed.source = model.source;
    changed.published_parameters = 0;  // no longer that model
    return changed;
  } catch (const InputError& e) {
    const InputError::Parts& parts = e.parts();
    throw InputError({file, "model." + parts.place, parts.found, parts.expected});
  }
}

}  // namespace headway
