#pragma once

#include <cstdint>
#include <string>

#include "sim/model/model_spec.h"

namespace headway::kernels {

// The shapes of a dense Llama decoder, as the engine runs it.
struct LlamaShape {
  std::int32_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, vocab = 0;
  std::int32_t max_positions = 0;

  std::int32_t q_width() const { return heads * head_dim; }
  std::int32_t kv_width() const { return kv_heads * head_dim; }
  std::int32_t norms() const { return 2 * layers + 1; }
  std::int32_t qkv_width() const { return q_width() + 2 * kv_width(); }
};

inline constexpr float kNormEpsilon = 1e-5F;
inline constexpr double kRopeTheta = 10000;

// InputError for a model that the engine cannot run: experts, biases, norms on queries and keys,
// tied embeddings, widths that are no multiples of 16.
LlamaShape llama_shape(const ModelSpec& model, std::int32_t max_positions);

// Products of a layer, and the LM head.
enum class Product : std::uint8_t { kQkv, kO, kGateUp, kDown, kLmHead };
inline constexpr int kLayerProducts = 4;
struct ProductSize {
  std::int64_t n = 0, k = 0;
};
ProductSize product_size(const LlamaShape& shape, Product product);

// Random weights are a function of (seed, what, layer) alone, so that every backend and the
// reference hold the same: normal, deviation 1 / sqrt(k) for a product, 1 for embeddings, 1 +- 0.1
// for norms.
std::uint64_t weight_seed(std::uint64_t seed, Product product, std::int32_t layer);
std::uint64_t embedding_seed(std::uint64_t seed);
std::uint64_t norm_seed(
    std::uint64_t seed);  // all norms in one run: layer by layer two, the final one
inline constexpr float kNormDeviation = 0.1F;
float product_deviation(const LlamaShape& shape, Product product);

}  // namespace headway::kernels
