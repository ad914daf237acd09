#include "sim/model/pruning.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

class Pruner {
 public:
  Pruner(ModelSpec model, const Pruning& pruning, const std::string& file)
      : model_(std::move(model)), figures_(pruning), file_(file) {
    if (!pruning.preset.empty()) take_preset();
  }

  ModelSpec run() {
    drop_layers();
    shrink("hidden_size", figures_.hidden_size, model_.hidden_size);
    prune_heads();
    prune_mlps();
    model_.published_parameters = static_cast<std::int64_t>(published_);
    model_.published_digits = digits_;
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& found,
                         const std::string& expected) const {
    throw InputError({file_, key.empty() ? "pruning" : "pruning." + key, found, expected});
  }

  void take_preset() {
    std::vector<std::string> names;
    for (const PruningPreset& row : pruning_presets()) {
      names.emplace_back(row.name);
      if (figures_.preset != row.name) continue;
      if (parameter_count(model_) != row.base_parameters) {
        fail("", "\"" + figures_.preset + "\" of " + model_.name,
             std::string("the shape of ") + row.base + ", which it was pruned from");
      }
      figures_ = row.figures;
      model_.name = row.name;
      model_.source = row.source;
      published_ = row.published_parameters;
      digits_ = row.published_digits;
      return;
    }
    fail("", "\"" + figures_.preset + "\"", one_of(figures_.preset, names));
  }

  // `now` becomes `wanted`, if that is asked for.
  void shrink(const char* key, std::int32_t wanted, std::int32_t& now) const {
    if (wanted == 0) return;
    if (wanted > now) {
      fail(key, std::to_string(wanted), "at most what there is (" + std::to_string(now) + ")");
    }
    now = wanted;
  }

  void drop_layers() {
    const auto before = model_.num_hidden_layers();
    std::vector<bool> dropped(model_.layers.size(), false);
    for (const std::int32_t index : figures_.drop_layers) {
      if (index >= before) {
        fail("drop_layers", std::to_string(index),
             "layers from 0 to " + std::to_string(before - 1));
      }
      dropped[static_cast<std::size_t>(index)] = true;
    }
    const auto gone = static_cast<std::int32_t>(std::count(dropped.begin(), dropped.end(), true));
    std::int32_t left = before - gone;
    if (figures_.drop_layers.empty()) {
      shrink("num_hidden_layers", figures_.num_hidden_layers, left);
      for (std::int32_t i = left == 1 ? 1 : left - 1; i < before - (left == 1 ? 0 : 1); ++i) {
        dropped[static_cast<std::size_t>(i)] = true;
      }
    } else if (figures_.num_hidden_layers != 0 && figures_.num_hidden_layers != left) {
      fail("num_hidden_layers", std::to_string(figures_.num_hidden_layers),
           std::to_string(left) + ", which drop_layers leaves");
    }
    if (left == 0) fail("drop_layers", "every layer", "at least one that stays");
    std::vector<LayerSpec> kept;
    for (std::size_t i = 0; i < dropped.size(); ++i) {
      if (!dropped[i]) kept.push_back(model_.layers[i]);
    }
    if (kept.front().mixer.shares_kv) {
      fail("drop_layers", "the layer whose keys and values the first one left reads",
           "a layer with a cache of its own first");
    }
    model_.layers = std::move(kept);
  }

  void prune_heads() {
    bool any = false;
    for (LayerSpec& layer : model_.layers) {
      MixerSpec& m = layer.mixer;
      if (!m.is_attention()) continue;
      any = true;
      shrink("num_attention_heads", figures_.num_attention_heads, m.heads);
      if (m.kind == MixerKind::kLatentAttention) {
        m.kv_heads = m.heads;
        continue;
      }
      shrink("num_key_value_heads", figures_.num_key_value_heads, m.kv_heads);
      if (m.heads % m.kv_heads != 0) {
        const char* key =
            figures_.num_key_value_heads != 0 ? "num_key_value_heads" : "num_attention_heads";
        fail(key,
             std::to_string(m.heads) + " heads and " + std::to_string(m.kv_heads) + " KV heads",
             "as many heads to each KV head");
      }
    }
    if (any) return;
    need("num_attention_heads", figures_.num_attention_heads, "a model with attention");
    need("num_key_value_heads", figures_.num_key_value_heads, "a model with attention");
  }

  void prune_mlps() {
    bool dense = false, moe = false;
    for (LayerSpec& layer : model_.layers) {
      MlpSpec& m = layer.mlp;
      if (m.kind == MlpKind::kDense) {
        dense = true;
        shrink("intermediate_size", figures_.intermediate_size, m.intermediate);
      } else if (m.kind == MlpKind::kMoe) {
        moe = true;
        shrink("moe_intermediate_size", figures_.moe_intermediate_size, m.expert_intermediate);
        shrink("num_experts", figures_.num_experts, m.experts);
        if (m.experts < m.experts_per_tok) {
          fail("num_experts", std::to_string(m.experts),
               "at least the " + std::to_string(m.experts_per_tok) + " that a token goes to");
        }
      }
    }
    if (!dense) need("intermediate_size", figures_.intermediate_size, "a model with dense MLPs");
    if (moe) return;
    need("moe_intermediate_size", figures_.moe_intermediate_size, "a mixture of experts");
    need("num_experts", figures_.num_experts, "a mixture of experts");
  }

  // A figure that has nothing to act on would be lost silently.
  void need(const char* key, std::int32_t wanted, const char* expected) const {
    if (wanted != 0) fail(key, std::to_string(wanted) + " of " + model_.name, expected);
  }

  ModelSpec model_;
  Pruning figures_;
  const std::string& file_;
  double published_ = 0;
  std::int32_t digits_ = 0;
};

}  // namespace

ModelSpec prune(const ModelSpec& model, const Pruning& pruning, const std::string& file) {
  return Pruner(model, pruning, file).run();
}

}  // namespace headway
