#include "sim/model/architectures.h"
#include "sim/model/config_attention.h"
#include "sim/model/config_mlp.h"

// Families whose layers are attention and an MLP, each by the common keys.
namespace headway {
namespace {

void set_norms(ModelSpec& model, std::int32_t norms) {
  for (LayerSpec& layer : model.layers) layer.norms = norms;
}

}  // namespace

void read_transformer(const ConfigReader& c, ModelSpec& model) {
  const std::int32_t layers = c.integer("num_hidden_layers", kMostLayers);
  const MixerSpec mixer = read_attention(c);
  const std::vector<std::int32_t> windows = read_windows(c, layers);
  const std::vector<bool> shares = read_sharing(c, layers);
  const std::vector<MlpSpec> mlps = read_mlps(c, layers);
  for (std::size_t i = 0; i < mlps.size(); ++i) {
    LayerSpec layer;
    layer.mixer = mixer;
    layer.mixer.window = windows[i];
    layer.mixer.shares_kv = shares[i];
    layer.mlp = mlps[i];
    model.layers.push_back(layer);
  }
}

// Norms before and after both the attention and the MLP.
void read_gemma(const ConfigReader& c, ModelSpec& model) {
  read_transformer(c, model);
  set_norms(model, 4);
}

// Squared ReLU between two matrices; LayerNorms, each with a weight and a bias.
void read_nemotron(const ConfigReader& c, ModelSpec& model) {
  read_transformer(c, model);
  set_norms(model, 4);
  model.final_norms = 2;
  for (LayerSpec& layer : model.layers) layer.mlp.gated = false;
}

void read_gpt_oss(const ConfigReader& c, ModelSpec& model) {
  read_transformer(c, model);
  for (LayerSpec& layer : model.layers) layer.mixer.sinks = true;
}

void read_deepseek(const ConfigReader& c, ModelSpec& model) {
  c.integer("kv_lora_rank", kWidest);  // never without
  read_transformer(c, model);
}

// Diffusion is a way to generate; the layers are a transformer's without a causal mask.
void read_diffusion(const ConfigReader& c, ModelSpec& model) {
  const char* why = "false, which LLaDA's checkpoints have";
  for (const char* key : {"include_bias", "include_qkv_bias", "attention_layer_norm", "alibi",
                          "bias_for_layer_norm", "multi_query_attention"}) {
    c.refuse(key, why);
  }
  read_transformer(c, model);
  model.generation.block_length = c.integer("block_length", kMostPositions);
  model.generation.refinement_steps = c.integer("refinement_steps", kMostPositions);
}

}  // namespace headway
