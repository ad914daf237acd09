#include "sim/model/model_spec.h"

#include <algorithm>

namespace headway {

ParameterBreakdown parameter_breakdown(const ModelSpec& m) {
  const std::int64_t D = m.hidden_size, L = m.num_hidden_layers, V = m.vocab_size;
  const std::int64_t q = std::int64_t{m.num_attention_heads} * m.head_dim;
  const std::int64_t kv = std::int64_t{m.num_key_value_heads} * m.head_dim;
  ParameterBreakdown p;
  p.embedding = V * D;
  p.lm_head = m.tie_word_embeddings ? 0 : V * D;
  p.attention = L * (2 * D * q + 2 * D * kv);
  if (m.is_moe()) {
    p.experts = L * m.num_experts * 3 * D * m.moe_intermediate_size;
    p.router = L * D * m.num_experts;
  } else {
    p.mlp = L * 3 * D * m.intermediate_size;
  }
  const std::int64_t qk_norms = m.qk_norm ? 2 * m.head_dim : 0;
  p.norms = L * (2 * D + qk_norms) + D;  // two a layer and the one before the LM head
  p.biases = m.attention_bias ? L * (q + 2 * kv) : 0;
  return p;
}

std::int64_t ParameterBreakdown::matrices() const {
  return embedding + lm_head + attention + mlp + experts + router;
}

std::int64_t ParameterBreakdown::total() const { return matrices() + norms + biases; }

std::int64_t parameter_count(const ModelSpec& model) { return parameter_breakdown(model).total(); }

std::int64_t active_parameter_count(const ModelSpec& model) {
  const ParameterBreakdown p = parameter_breakdown(model);
  if (!model.is_moe()) return p.total();
  const std::int64_t per_expert = p.experts / model.num_experts;
  return p.total() - per_expert * (model.num_experts - model.num_experts_per_tok);
}

std::int64_t matrix_parameter_count(const ModelSpec& model) {
  return parameter_breakdown(model).matrices();
}

double kv_bytes_per_token(const ModelSpec& model, DType kv) {
  return 2.0 * model.num_hidden_layers * model.num_key_value_heads * model.head_dim *
         bytes_per_element(kv);
}

double weight_bytes(const ModelSpec& model, const Precision& precision) {
  const ParameterBreakdown p = parameter_breakdown(model);
  const auto quantised = static_cast<double>(p.attention + p.mlp + p.experts);
  return quantised * bytes_per_element(precision.weights) +
         (static_cast<double>(p.total()) - quantised) * unquantised_bytes(precision.weights);
}

double unquantised_bytes(DType weights) { return std::max(2.0, bytes_per_element(weights)); }

}  // namespace headway
