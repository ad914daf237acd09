#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/dtype.h"
#include "sim/model/layer_spec.h"

namespace headway {

// How answers are made.
struct GenerationSpec {
  // Diffusion language models refine a block of tokens at once, all of them in every pass, and go
  // on to the next block when it is done; 0 = one token after the other.
  std::int32_t block_length = 0;      // tokens
  std::int32_t refinement_steps = 0;  // passes over a block

  bool diffusion() const { return block_length > 0; }
  bool operator==(const GenerationSpec&) const = default;
};

// A decoder-only language model: what its Hugging Face config.json describes. Everything that has a
// price (parameters, KV, operators, FLOPs, bytes) follows from the list of its layers.
struct ModelSpec {
  std::string name;    // catalogue name: "llama-2-13b"
  std::string source;  // where the figures are from (HF repository)
  std::string config;  // the config.json it was read from, for with_overrides; "" = built by hand
  std::int32_t hidden_size = 0;  // D
  std::int32_t vocab_size = 0;   // V
  std::int32_t max_position_embeddings = 0;
  bool tie_word_embeddings = false;
  std::vector<LayerSpec> layers;  // in order; kinds may differ from layer to layer
  GenerationSpec generation;
  std::int32_t final_norms = 1;           // RMSNorms as wide as the model before the LM head
  std::int64_t published_parameters = 0;  // from the model card; 0 = none
  // Digits of it that were published, where the count was rounded: 671e9 has 3; 0 = all.
  std::int32_t published_digits = 0;
  std::string checkpoint_format;  // quant_method of the published weights ("fp8"); "" = 16 bits

  std::int32_t num_hidden_layers() const { return static_cast<std::int32_t>(layers.size()); }
  bool is_moe() const;  // in any layer
};

// Layers that are alike, whatever their order.
struct LayerKind {
  LayerSpec layer;
  std::int32_t count = 0;
};
// By first occurrence.
std::vector<LayerKind> layer_kinds(const ModelSpec& model);
// Of the layers [first, first + count).
std::vector<LayerKind> layer_kinds(const ModelSpec& model, std::int32_t first, std::int32_t count);

// The first layer with attention (of either kind), which describes those models whose layers are
// all alike. REQUIRES: there is one.
const MixerSpec& first_attention(const ModelSpec& model);
bool has_attention(const ModelSpec& model);
// The model whose `count` layers are all `layer`.
std::vector<LayerSpec> alike_layers(std::int32_t count, const LayerSpec& layer);
// A layer of dense grouped-query attention and a gated MLP, by far the most common one.
LayerSpec dense_layer(std::int32_t heads, std::int32_t kv_heads, std::int32_t head_dim,
                      std::int32_t intermediate);

// Where the weights lie. A count each, over all layers, whole model.
struct ParameterBreakdown {
  std::int64_t embedding = 0;
  std::int64_t lm_head = 0;    // 0 when tied to the embedding
  std::int64_t attention = 0;  // projections of attention, of either kind, and its indexers
  std::int64_t state = 0;      // projections and convolutions of recurrent mixers
  std::int64_t mlp = 0;        // dense MLPs and shared experts
  std::int64_t experts = 0;    // of all routed experts
  std::int64_t router = 0;
  std::int64_t norms = 0;
  std::int64_t biases = 0;  // and other vectors: sinks, decay and time-step parameters

  std::int64_t matrices() const;  // everything but norms and biases
  std::int64_t total() const;
};
ParameterBreakdown parameter_breakdown(const ModelSpec& model);
// Of one layer; embedding, LM head and the last norm are the model's.
ParameterBreakdown parameter_breakdown(const LayerSpec& layer, std::int64_t hidden_size);

// All weights, embeddings included (tied ones once): what a model card publishes.
std::int64_t parameter_count(const ModelSpec& model);
// Parameters that take part in one token's forward pass (MoE: only the chosen experts).
std::int64_t active_parameter_count(const ModelSpec& model);
// Weight matrices only, no norms and no biases; 2VD + 3DFL + (2DNH + 2DKH)L for an untied dense
// model, the formula of textbook estimates.
std::int64_t matrix_parameter_count(const ModelSpec& model);

// What one layer keeps of a sequence. Whole model (not per GPU).
struct LayerCache {
  double bytes_per_token = 0;  // of every token that it keeps
  std::int32_t window = 0;     // tokens that it keeps at most; 0 = all
  double state_bytes = 0;      // once a sequence
};
LayerCache layer_cache(const LayerSpec& layer, DType kv);
// What one more token costs a long sequence, over the layers that keep every token (windowed and
// recurrent layers do not grow).
double kv_bytes_per_token(const ModelSpec& model, DType kv);
// What a sequence of so many tokens takes in all.
double kv_bytes(const ModelSpec& model, DType kv, double tokens);

// Bytes of all weights. Quantised formats apply to the projections of the layers; embeddings, LM
// head, router, norms and biases stay at two bytes, as published checkpoints have it.
double weight_bytes(const ModelSpec& model, const Precision& precision);
// Bytes an element of a weight that is never quantised: two, or four under fp32.
double unquantised_bytes(DType weights);

}  // namespace headway
