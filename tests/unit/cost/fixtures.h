#pragma once

#include <cstdint>

#include "sim/cost/step_shape.h"
#include "sim/model/model_spec.h"

namespace headway {

// Widths of a dense model, as the lecture names them: D, F, N, K, H, V.
struct Widths {
  std::int32_t hidden, ffn, heads, kv_heads, head_dim, vocab;
};

inline ModelSpec dense_model(const char* name, std::int32_t layers, const Widths& w,
                             std::int32_t max_positions = 4096) {
  ModelSpec model;
  model.name = name;
  model.hidden_size = w.hidden;
  model.layers = alike_layers(layers, dense_layer(w.heads, w.kv_heads, w.head_dim, w.ffn));
  model.vocab_size = w.vocab;
  model.max_position_embeddings = max_positions;
  return model;
}

// A decode step of `batch` sequences with `kv` tokens of KV each.
inline StepShape decode(std::int32_t batch, std::int32_t kv) {
  StepShape shape;
  shape.tokens = shape.decode_sequences = shape.decode_query_tokens = batch;
  shape.decode_kv_tokens = std::int64_t{batch} * kv;
  shape.decode_kv_max = kv;
  shape.sampled_sequences = batch;
  return shape;
}

}  // namespace headway
