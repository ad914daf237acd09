#include "sim/model/hf_config.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/json_file.h"
#include "sim/core/suggest.h"
#include "sim/model/architectures.h"
#include "sim/model/config_reader.h"
#include "sim/model/gguf.h"
#include "sim/model/pruning.h"

namespace headway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& row : architectures()) names.emplace_back(row.model_type);
  return names;
}

const Architecture& find_architecture(const ConfigReader& config) {
  const std::vector<std::string> names = architecture_names();
  if (config.present("model_type")) {
    const std::string type = config.text_or("model_type", "");
    for (const Architecture& row : architectures()) {
      if (type == row.model_type) return row;
    }
    config.fail("model_type", "\"" + type + "\"", one_of(type, names));
  }
  if (config.is_list("architectures")) {
    for (const std::string& name : config.texts("architectures")) {
      for (const Architecture& row : architectures()) {
        if (name == row.class_name && !name.empty()) return row;
      }
      config.fail("architectures", "\"" + name + "\"", "a model_type: " + one_of("", names));
    }
  }
  if (config.present("ssm_cfg")) {  // the mamba-ssm library names no type at all
    for (const Architecture& row : architectures()) {
      if (std::string(row.model_type) == "mamba_ssm") return row;
    }
  }
  config.fail("model_type", "nothing", one_of("", names));
}

void read_common(const ConfigReader& c, ModelSpec& model) {
  model.hidden_size = c.integer("hidden_size", kWidest);
  model.vocab_size = c.integer("vocab_size", kMostWords);
  model.max_position_embeddings = c.integer("max_position_embeddings", kMostPositions);
  model.tie_word_embeddings = c.flag_or("tie_word_embeddings", false);
}

std::string outer_text(const Json& document, const std::string& file, const char* key) {
  const auto it = document.find(key);
  if (it == document.end()) return "";
  if (!it->is_string()) throw InputError({file, key, describe_json(*it), "a text"});
  return it->get<std::string>();
}

std::int64_t outer_integer(const Json& document, const std::string& file, const char* key) {
  const auto it = document.find(key);
  if (it == document.end()) return 0;
  const bool fits = it->is_number_unsigned() && *it <= std::numeric_limits<std::int64_t>::max();
  if (!fits) throw InputError({file, key, describe_json(*it), "a whole number"});
  return it->get<std::int64_t>();
}

// A config.json is named after its folder.
std::string name_of_file(const std::string& file) {
  const fs::path path = file;
  const bool plain = path.filename() == "config.json" && path.has_parent_path();
  return plain ? path.parent_path().filename().string() : path.stem().string();
}

// Catalogue files say more than a config.json does, at the top whatever is nested.
void read_catalogue_keys(const Json& document, const std::string& file, ModelSpec& model) {
  model.name = outer_text(document, file, "name");
  model.source = outer_text(document, file, "source");
  if (model.name.empty()) model.name = outer_text(document, file, "_name_or_path");
  if (model.name.empty()) model.name = name_of_file(file);
  model.published_parameters = outer_integer(document, file, "published_parameters");
  model.published_digits = static_cast<std::int32_t>(
      std::min<std::int64_t>(outer_integer(document, file, "published_digits"), 18));
  const auto quantization = document.find("quantization_config");
  if (quantization == document.end() || !quantization->is_object()) return;
  const auto method = quantization->find("quant_method");
  const bool named = method != quantization->end() && method->is_string();
  model.checkpoint_format = named ? method->get<std::string>() : "quantised";
}

// The key of ours: a preset's name, or what remains of the figures. Nothing else has its keys
// checked: a config.json is full of keys that nobody here reads.
Pruning read_pruning(const ConfigReader& config) {
  Pruning p;
  if (config.is_text("pruning")) {
    p.preset = config.text_or("pruning", "");
    return p;
  }
  const ConfigReader c = config.block("pruning");
  p.preset = c.text_or("preset", "");
  p.drop_layers = c.integers("drop_layers", kMostLayers);
  p.num_hidden_layers = c.integer_or("num_hidden_layers", 0, kMostLayers);
  p.hidden_size = c.integer_or("hidden_size", 0, kWidest);
  p.num_attention_heads = c.integer_or("num_attention_heads", 0, kMostHeads);
  p.num_key_value_heads = c.integer_or("num_key_value_heads", 0, kMostHeads);
  p.intermediate_size = c.integer_or("intermediate_size", 0, kWidest);
  p.moe_intermediate_size = c.integer_or("moe_intermediate_size", 0, kWidest);
  p.num_experts = c.integer_or("num_experts", 0, kMostExperts);
  const std::vector<std::string> known(c.asked().begin(), c.asked().end());
  for (const std::string& key : c.strangers()) c.fail(key, "an unknown key", one_of(key, known));
  return p;
}

// Figures that were derived stay when others change: a pruned model keeps the size of its heads.
void keep_derived(ConfigReader& config, const ModelSpec& model) {
  if (!has_attention(model)) return;
  const MixerSpec& m = first_attention(model);
  if (m.kind != MixerKind::kAttention) return;
  config.set("head_dim", m.head_dim);
  config.set("num_key_value_heads", m.kv_heads);
}

struct Parsed {
  ModelSpec model;
  std::set<std::string> keys;
};

Parsed parse(const std::string& text, const std::string& file) {
  const Json document = parse_json_object(text, file);
  ConfigReader config(document, file);
  const Architecture& architecture = find_architecture(config);
  config.rename(architecture.renames);
  config.add_defaults(architecture.defaults);
  Parsed parsed;
  ModelSpec& model = parsed.model;
  read_common(config, model);
  architecture.read(config, model);
  const bool pruned = config.given("pruning");
  const Pruning pruning = pruned ? read_pruning(config) : Pruning{};
  keep_derived(config, model);
  model.config = config.resolved(architecture.model_type);
  parsed.keys = config.asked();
  read_catalogue_keys(document, file, model);
  if (pruned) model = prune(model, pruning, file);
  return parsed;
}

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json") ||
         text.ends_with(".gguf") || text == "." || text == "..";
}

}  // namespace

ModelSpec parse_model(const std::string& text, const std::string& file) {
  return parse(text, file).model;
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
    if (path.extension() == ".gguf")
      return parse_model(gguf_to_config(path.string()), path.string());
    return parse_model(read_whole_file(path.string()), path.string());
  }
  if (looks_like_path(name_or_path)) {
    throw InputError(
        {file, place, "\"" + name_or_path + "\", where no file is",
         "a Hugging Face config.json, its folder, a .gguf file, or a catalogue name (" +
             one_of("", names) + ")"});
  }
  throw InputError({file, place, "\"" + name_or_path + "\"",
                    one_of(name_or_path, names) + ", or the path of a Hugging Face config.json"});
}

std::vector<std::string> model_keys(const ModelSpec& model) {
  const std::set<std::string> asked = parse(model.config, "config.json").keys;
  std::vector<std::string> keys;
  for (const std::string& key : asked) {
    if (key != "model_type") keys.push_back(key);
  }
  return keys;
}

namespace {

// As JSON has it; what is not JSON is a text.
Json override_value(const std::string& value) {
  Json json = Json::parse(value, nullptr, false);
  return json.is_discarded() ? Json(value) : json;
}

// Fewer layers end the lists that have an entry a layer; more go on as they began.
void fit_layer_lists(Json& config, std::int64_t before, std::int64_t after) {
  for (auto& [key, value] : config.items()) {
    const auto size = static_cast<std::int64_t>(value.size());
    if (value.is_string() && key == "hybrid_override_pattern") {
      const std::string text = value.get<std::string>();
      std::string fitted;
      for (std::int64_t i = 0; i < after && !text.empty(); ++i) {
        fitted += text[static_cast<std::size_t>(i) % text.size()];
      }
      value = fitted;
      continue;
    }
    if (!value.is_array() || size < before || size > before + 1 || size == 0) continue;
    Json fitted = Json::array();
    for (std::int64_t i = 0; i < after; ++i) {
      fitted.push_back(value[static_cast<std::size_t>(i % before)]);
    }
    value = std::move(fitted);
  }
}

}  // namespace

ModelSpec with_overrides(const ModelSpec& model, const std::vector<ModelOverride>& overrides,
                         const std::string& file) {
  SIM_CHECK(!model.config.empty(), "a model that was read from a config.json");
  const std::vector<std::string> keys = model_keys(model);
  Json config = Json::parse(model.config);
  config["name"] = model.name;
  config["source"] = model.source;
  for (const auto& [key, value] : overrides) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw InputError({file, "model." + key, "an unknown key", one_of(key, keys)});
    }
    const Json before = config.value(key, Json());
    config[key] = override_value(value);
    const Json& now = config[key];
    if (key == "num_hidden_layers" && now.is_number_unsigned() && now <= kMostLayers) {
      fit_layer_lists(config, before.get<std::int64_t>(), now.get<std::int64_t>());
    }
  }
  try {
    return parse_model(config.dump(), file);
  } catch (const InputError& e) {
    const InputError::Parts& parts = e.parts();
    throw InputError({file, "model." + parts.place, parts.found, parts.expected});
  }
}

ModelSpec with_overrides(const ModelSpec& model, const std::string& key, const std::string& value,
                         const std::string& file) {
  return with_overrides(model, {{key, value}}, file);
}

}  // namespace headway
