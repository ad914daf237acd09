#include <algorithm>
#include <string>

#include "sim/model/architectures.h"
#include "sim/model/config_attention.h"
#include "sim/model/config_mlp.h"

// Families with layers that keep a state instead of keys and values.
namespace headway {
namespace {

MixerSpec gated_delta_net(const ConfigReader& c) {
  MixerSpec m;
  m.kind = MixerKind::kGatedDeltaNet;
  StateSpec& s = m.state;
  s.heads = c.integer("linear_num_value_heads", kMostHeads);
  s.groups = c.integer("linear_num_key_heads", kMostHeads);
  s.key_dim = c.integer("linear_key_head_dim", kWidestHead);
  s.value_dim = c.integer("linear_value_head_dim", kWidestHead);
  s.conv_kernel = c.integer("linear_conv_kernel_dim", 64);
  if (s.heads % s.groups != 0) {
    c.fail("linear_num_key_heads", std::to_string(s.groups),
           "a divisor of linear_num_value_heads (" + std::to_string(s.heads) + ")");
  }
  return m;
}

// True where a layer has full attention: layer_types, or every n-th.
std::vector<bool> full_layers(const ConfigReader& c, std::int32_t layers) {
  std::vector<bool> full(static_cast<std::size_t>(layers));
  const std::int32_t every = c.integer("full_attention_interval", kMostLayers);
  const std::vector<std::string> types = c.texts("layer_types");
  if (!types.empty()) check_layer_list(c, "layer_types", types.size(), layers);
  for (std::size_t i = 0; i < full.size(); ++i) {
    full[i] = (i + 1) % static_cast<std::size_t>(every) == 0;
    if (types.empty()) continue;
    full[i] = types[i] == "full_attention";
    if (!full[i] && types[i] != "linear_attention") {
      c.fail("layer_types", "\"" + types[i] + "\"", "full_attention or linear_attention");
    }
  }
  return full;
}

void check_groups(const ConfigReader& c, const char* key, const StateSpec& s) {
  if (s.heads % s.groups == 0) return;
  c.fail(key, std::to_string(s.groups), "a divisor of the " + std::to_string(s.heads) + " heads");
}

// As the hybrids spell it: mamba_n_heads, mamba_d_head, ... `expand` says the same otherwise.
MixerSpec hybrid_mamba(const ConfigReader& c) {
  c.refuse("mamba_proj_bias", "false: biases of the projections are not modelled");
  MixerSpec m;
  m.kind = MixerKind::kMamba2;
  m.state.heads = c.integer("mamba_n_heads", kMostHeads);
  const std::int32_t inner =
      c.integer_or("mamba_expand", 2, 64) * c.integer("hidden_size", kWidest);
  const bool told = c.present("mamba_d_head") && !c.is_text("mamba_d_head");  // or "auto"
  m.state.value_dim = told ? c.integer("mamba_d_head", kWidestHead) : inner / m.state.heads;
  if (m.state.value_width() != inner) {
    c.fail("mamba_n_heads", std::to_string(m.state.heads),
           "mamba_n_heads x mamba_d_head equal to mamba_expand x hidden_size (" +
               std::to_string(inner) + ")");
  }
  m.state.groups = c.integer("mamba_n_groups", kMostHeads);
  m.state.key_dim = c.integer("mamba_d_state", kWidestHead);
  m.state.conv_kernel = c.integer("mamba_d_conv", 64);
  m.state.conv_bias = c.flag_or("mamba_conv_bias", true);
  check_groups(c, "mamba_n_groups", m.state);
  return m;
}

}  // namespace

void read_qwen3_next(const ConfigReader& c, ModelSpec& model) {
  const std::int32_t layers = c.integer("num_hidden_layers", kMostLayers);
  MixerSpec attention = read_attention(c);
  attention.output_gate = c.flag_or("attn_output_gate", true);
  const MixerSpec linear = gated_delta_net(c);
  const std::vector<MlpSpec> mlps = read_mlps(c, layers);
  const std::vector<bool> full = full_layers(c, layers);
  for (std::size_t i = 0; i < mlps.size(); ++i) {
    model.layers.push_back({full[i] ? attention : linear, mlps[i], 2});
  }
}

void read_mamba2(const ConfigReader& c, ModelSpec& model) {
  const std::string layer = c.text_or("ssm_layer", "Mamba2");
  if (layer != "Mamba2") c.fail("ssm_layer", "\"" + layer + "\"", "Mamba2");
  c.refuse("attn_layer_idx", "no layers of attention; Mamba-2 with attention is read as bamba");
  c.refuse("d_intermediate", "no MLP beside the mixer");
  c.refuse("use_bias", "false: biases of the projections are not modelled");
  LayerSpec spec;
  spec.norms = 1;
  spec.mlp.kind = MlpKind::kNone;
  spec.mixer.kind = MixerKind::kMamba2;
  StateSpec& s = spec.mixer.state;
  s.value_dim = c.integer("head_dim", kWidestHead);
  const std::int32_t inner = c.integer("expand", 64) * model.hidden_size;
  if (inner % s.value_dim != 0) {
    c.fail("head_dim", std::to_string(s.value_dim),
           "a divisor of expand x hidden_size (" + std::to_string(inner) + ")");
  }
  s.heads = c.integer_or("num_heads", inner / s.value_dim, kMostHeads);
  if (s.heads * s.value_dim != inner) {
    c.fail("num_heads", std::to_string(s.heads),
           std::to_string(inner / s.value_dim) + ": expand x hidden_size / head_dim");
  }
  s.groups = c.integer("n_groups", kMostHeads);
  s.key_dim = c.integer("state_size", kWidestHead);
  s.conv_kernel = c.integer("conv_kernel", 64);
  s.conv_bias = c.flag_or("use_conv_bias", true);
  check_groups(c, "n_groups", s);
  const std::int32_t multiple = c.integer_or("pad_vocab_size_multiple", 1, 1 << 16);
  model.vocab_size = (model.vocab_size + multiple - 1) / multiple * multiple;
  model.layers = alike_layers(c.integer("num_hidden_layers", kMostLayers), spec);
}

// Bamba: every layer an MLP, its mixer Mamba-2 but for attn_layer_indices. Granite 4: the mixer by
// layer_types; a dense MLP of shared_intermediate_size beside the experts, if there are any.
void read_mamba_hybrid(const ConfigReader& c, ModelSpec& model) {
  const std::int32_t layers = c.integer("num_hidden_layers", kMostLayers);
  const MixerSpec attention = read_attention(c);
  const MixerSpec mamba = hybrid_mamba(c);
  const std::vector<std::int32_t> indices = c.integers("attn_layer_indices", kMostLayers);
  const std::vector<std::string> types = c.texts("layer_types");
  if (indices.empty() && types.empty()) {
    c.fail("attn_layer_indices", "nothing", "the layers with attention, here or in layer_types");
  }
  if (!types.empty()) check_layer_list(c, "layer_types", types.size(), layers);
  std::vector<MlpSpec> mlps;
  if (c.given("shared_intermediate_size") && !c.given("num_local_experts")) {
    MlpSpec dense;
    dense.intermediate = c.integer("shared_intermediate_size", kWidest);
    mlps.assign(static_cast<std::size_t>(layers), dense);
  } else {
    mlps = read_mlps(c, layers);
    const std::int32_t shared = c.integer_or("shared_intermediate_size", 0, kWidest, 0);
    for (MlpSpec& mlp : mlps) mlp.shared_intermediate = shared;
  }
  for (std::size_t i = 0; i < mlps.size(); ++i) {
    const bool listed =
        std::find(indices.begin(), indices.end(), static_cast<std::int32_t>(i)) != indices.end();
    const bool full = types.empty() ? listed : types[i] == "attention";
    if (!types.empty() && !full && types[i] != "mamba") {
      c.fail("layer_types", "\"" + types[i] + "\"", "mamba or attention");
    }
    model.layers.push_back({full ? attention : mamba, mlps[i], 2});
  }
}

// One mixer or one MLP a layer, by a letter: M Mamba-2, * attention, - MLP of two matrices.
void read_nemotron_h(const ConfigReader& c, ModelSpec& model) {
  const std::string pattern = c.text_or("hybrid_override_pattern", "");
  const std::int32_t layers = c.integer("num_hidden_layers", kMostLayers);
  check_layer_list(c, "hybrid_override_pattern", pattern.size(), layers);
  LayerSpec attention, mamba, mlp;
  attention.norms = mamba.norms = mlp.norms = 1;
  attention.mlp.kind = mamba.mlp.kind = MlpKind::kNone;
  attention.mixer = read_attention(c);
  mamba.mixer.kind = MixerKind::kMamba2;
  StateSpec& s = mamba.mixer.state;
  s.heads = c.integer("mamba_num_heads", kMostHeads);
  s.value_dim = c.integer("mamba_head_dim", kWidestHead);
  s.groups = c.integer("n_groups", kMostHeads);
  s.key_dim = c.integer("ssm_state_size", kWidestHead);
  s.conv_kernel = c.integer("conv_kernel", 64);
  s.conv_bias = c.flag_or("use_conv_bias", true);
  check_groups(c, "n_groups", s);
  mlp.mixer.kind = MixerKind::kNone;
  mlp.mlp.gated = false;
  mlp.mlp.intermediate = c.integer("intermediate_size", kWidest);
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const char letter = pattern[i];
    if (letter != 'M' && letter != '*' && letter != '-') {
      c.fail("hybrid_override_pattern", "\"" + std::string(1, letter) + "\"",
             "M (Mamba-2), * (attention) or - (MLP) a layer");
    }
    model.layers.push_back(letter == 'M' ? mamba : letter == '*' ? attention : mlp);
  }
}

}  // namespace headway
