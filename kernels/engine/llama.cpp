#include "kernels/engine/llama.h"

#include <cmath>

#include "sim/core/errors.h"
#include "sim/core/hash.h"

namespace headway::kernels {
namespace {

void require(bool good, const ModelSpec& model, const std::string& found,
             const std::string& expected) {
  if (!good) throw InputError({"", "model " + model.name, found, expected});
}

}  // namespace

LlamaShape llama_shape(const ModelSpec& m, std::int32_t max_positions) {
  require(!m.layers.empty() && layer_kinds(m).size() == 1, m, "layers of several kinds",
          "layers that are all alike, which is what the engine runs");
  const LayerSpec& layer = m.layers.front();
  const MixerSpec& attention = layer.mixer;
  require(!m.is_moe(), m, "a mixture of experts", "a dense model, which is what the engine runs");
  // All that a plain Llama layer has is in these four figures.
  require(layer == dense_layer(attention.heads, attention.kv_heads, attention.head_dim,
                               layer.mlp.intermediate),
          m, "norms or biases of queries and keys, windows, or other kinds of layers",
          "a plain Llama decoder, which is what the engine runs");
  require(!m.tie_word_embeddings, m, "an LM head tied to the embedding", "one of its own");
  LlamaShape s;
  s.layers = m.num_hidden_layers();
  s.hidden = m.hidden_size;
  s.heads = attention.heads;
  s.kv_heads = attention.kv_heads;
  s.head_dim = attention.head_dim;
  s.ffn = layer.mlp.intermediate;
  s.vocab = m.vocab_size;
  s.max_positions = max_positions;
  for (const std::int32_t width : {s.hidden, s.head_dim, s.ffn, s.vocab}) {
    require(width % 16 == 0, m, "a width of " + std::to_string(width), "multiples of 16");
  }
  require(s.heads % s.kv_heads == 0, m,
          std::to_string(s.heads) + " heads over " + std::to_string(s.kv_heads) + " KV heads",
          "a whole number of heads a KV head");
  return s;
}

ProductSize product_size(const LlamaShape& s, Product product) {
  switch (product) {
    case Product::kQkv:
      return {s.qkv_width(), s.hidden};
    case Product::kO:
      return {s.hidden, s.q_width()};
    case Product::kGateUp:
      return {2 * std::int64_t{s.ffn}, s.hidden};
    case Product::kDown:
      return {s.hidden, s.ffn};
    case Product::kLmHead:
      break;
  }
  return {s.vocab, s.hidden};
}

std::uint64_t weight_seed(std::uint64_t seed, Product product, std::int32_t layer) {
  return combine64(combine64(seed, static_cast<std::uint64_t>(product)),
                   static_cast<std::uint64_t>(layer));
}

std::uint64_t embedding_seed(std::uint64_t seed) { return combine64(seed, hash_name("embedding")); }

std::uint64_t norm_seed(std::uint64_t seed) { return combine64(seed, hash_name("norm")); }

float product_deviation(const LlamaShape& shape, Product product) {
  return 1 / std::sqrt(static_cast<float>(product_size(shape, product).k));
}

}  // namespace headway::kernels
