#pragma once

#include <cstdint>
#include <string>

#include "sim/core/dtype.h"

namespace headway {

// A decoder-only transformer, as its Hugging Face config.json describes it.
struct ModelSpec {
  std::string name;    // catalogue name: "llama-2-13b"
  std::string source;  // where the figures are from (HF repository)
  std::int32_t num_hidden_layers = 0;
  std::int32_t hidden_size = 0;          // D
  std::int32_t intermediate_size = 0;    // F, of a dense MLP (gated)
  std::int32_t num_attention_heads = 0;  // N
  std::int32_t num_key_value_heads = 0;  // K
  std::int32_t head_dim = 0;             // H: read, not derived, where the config has it
  std::int32_t vocab_size = 0;           // V
  std::int32_t max_position_embeddings = 0;
  bool tie_word_embeddings = false;
  bool qk_norm = false;         // an RMSNorm on queries and keys (Qwen3)
  bool attention_bias = false;  // QKV bias (Qwen2)
  // Mixture of experts; num_experts 0 = dense.
  std::int32_t num_experts = 0;
  std::int32_t num_experts_per_tok = 0;
  std::int32_t moe_intermediate_size = 0;
  std::int64_t published_parameters = 0;  // from the model card; 0 = none

  bool is_moe() const { return num_experts > 0; }
};

// Where the weights lie. A count each, over all layers, whole model.
struct ParameterBreakdown {
  std::int64_t embedding = 0;
  std::int64_t lm_head = 0;    // 0 when tied to the embedding
  std::int64_t attention = 0;  // Q, K, V and output projections
  std::int64_t mlp = 0;        // gate, up, down of a dense model
  std::int64_t experts = 0;    // the same, of all experts
  std::int64_t router = 0;
  std::int64_t norms = 0;
  std::int64_t biases = 0;  // of Q, K and V

  std::int64_t matrices() const;  // everything but norms and biases
  std::int64_t total() const;
};
ParameterBreakdown parameter_breakdown(const ModelSpec& model);

// All weights, embeddings included (tied ones once): what a model card publishes.
std::int64_t parameter_count(const ModelSpec& model);
// Parameters that take part in one token's forward pass (MoE: only the chosen experts).
std::int64_t active_parameter_count(const ModelSpec& model);
// Weight matrices only, no norms and no biases; 2VD + 3DFL + (2DNH + 2DKH)L for an untied dense
// model, the formula of textbook estimates.
std::int64_t matrix_parameter_count(const ModelSpec& model);
// Keys and values of one token over all layers, whole model (not per GPU).
double kv_bytes_per_token(const ModelSpec& model, DType kv);

// Bytes of all weights. Quantised formats apply to the projections of the layers; embeddings, LM
// head, router, norms and biases stay at two bytes, as published checkpoints have it.
double weight_bytes(const ModelSpec& model, const Precision& precision);
// Bytes an element of a weight that is never quantised: two, or four under fp32.
double unquantised_bytes(DType weights);

}  // namespace headway
