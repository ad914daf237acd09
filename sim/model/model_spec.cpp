#include "sim/model/model_spec.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {
namespace {

// The queries, straight from the hidden state or through a latent with a norm.
void add_queries(ParameterBreakdown& p, const MixerSpec& m, std::int64_t D) {
  const std::int64_t q = std::int64_t{m.heads} * m.head_dim;
  if (m.q_lora_rank > 0) {
    p.attention += D * m.q_lora_rank + m.q_lora_rank * q;
    p.norms += m.q_lora_rank;
  } else {
    p.attention += D * q;
  }
  if (m.output_gate) p.attention += D * q;
  if (m.qkv_bias) p.biases += q;
}

// One matrix, or (DeepSeek-V4) a latent a group of heads and one matrix from all latents.
void add_output(ParameterBreakdown& p, const MixerSpec& m, std::int64_t D) {
  const std::int64_t out = std::int64_t{m.heads} * m.v_head_dim;
  const std::int64_t latent = std::int64_t{m.output_groups} * m.output_lora_rank;
  p.attention += latent > 0 ? out * m.output_lora_rank + latent * D : out * D;
  if (m.output_bias) p.biases += D;
}

void add_attention(ParameterBreakdown& p, const MixerSpec& m, std::int64_t D) {
  const std::int64_t k = std::int64_t{m.kv_heads} * m.head_dim;
  const std::int64_t v = m.values_are_keys ? 0 : std::int64_t{m.kv_heads} * m.v_head_dim;
  add_queries(p, m, D);
  add_output(p, m, D);
  if (m.sinks) p.biases += m.heads;
  if (m.qk_norm) p.norms += m.head_dim;
  if (m.shares_kv) return;
  p.attention += D * (k + v);
  if (m.qkv_bias) p.biases += k + v;
  if (m.qk_norm || m.values_are_keys) p.norms += m.head_dim;
}

// DeepSeek-V2: q = W_UQ norm(W_DQ x), [latent, rope key] = W_DKV x, [keys, values] = W_UKV
// norm(latent).
void add_latent(ParameterBreakdown& p, const MixerSpec& m, std::int64_t D) {
  const std::int64_t nope = m.head_dim - m.qk_rope_head_dim;
  add_queries(p, m, D);
  add_output(p, m, D);
  if (m.shares_kv) return;
  p.attention += D * (m.kv_lora_rank + m.qk_rope_head_dim);
  p.norms += m.kv_lora_rank;
  p.attention += std::int64_t{m.kv_lora_rank} * m.heads * (nope + m.v_head_dim);
}

// DeepSeek-V4: an entry is a mean of `compression` (or twice as many, overlapping) projected
// tokens, weighted by a gate of the same width with a bias a place.
void add_compressor(ParameterBreakdown& p, const SparseSpec& s, std::int64_t D,
                    std::int64_t width) {
  const std::int64_t wide = s.overlapping ? 2 * width : width;
  p.attention += 2 * D * wide;
  p.biases += s.compression * wide;
  p.norms += width;
}

// DeepSeek-V3.2's lightning indexer: queries from the query latent (or the hidden state), one key a
// token with a LayerNorm, a weight a head. Of a compressed cache it compresses keys of its own.
void add_sparse(ParameterBreakdown& p, const MixerSpec& m, std::int64_t D) {
  const SparseSpec& s = m.sparse;
  const bool compressed = s.compression > 1;
  if (compressed && !m.shares_kv) add_compressor(p, s, D, m.head_dim);
  if (s.index_heads == 0) return;
  const std::int64_t from = m.q_lora_rank > 0 ? m.q_lora_rank : D;
  p.attention += from * s.index_heads * s.index_head_dim + D * s.index_heads;
  if (compressed) {
    add_compressor(p, s, D, s.index_head_dim);
  } else {
    p.attention += D * s.index_head_dim;
    p.norms += 2 * std::int64_t{s.index_head_dim};
  }
}

// Mamba-2: in = [z, x, B, C, dt], convolution over x, B, C; A, D and the time step's bias a head; a
// gated norm. Gated DeltaNet: q, k, v, z and two numbers a head; convolution over q, k, v; A and
// the time step's bias a head; a norm as wide as a head. Linear attention: q, k, v and the output.
void add_state(ParameterBreakdown& p, const MixerSpec& m, std::int64_t D) {
  const StateSpec& s = m.state;
  const std::int64_t value = s.value_width(), key = s.key_width(), H = s.heads;
  const std::int64_t conv = value + 2 * key;
  p.state += value * D + conv * s.conv_kernel;
  if (s.conv_bias) p.biases += conv;
  switch (m.kind) {
    case MixerKind::kMamba2:
      p.state += D * (2 * value + 2 * key + H);
      p.biases += 3 * H;
      p.norms += value;
      break;
    case MixerKind::kGatedDeltaNet:
      p.state += D * (2 * value + 2 * key + 2 * H);
      p.biases += 2 * H;
      p.norms += s.value_dim;
      break;
    default:
      p.state += D * (value + 2 * key);
      break;
  }
}

void add_mlp(ParameterBreakdown& p, const MlpSpec& m, std::int64_t D) {
  const std::int64_t matrices = m.gated ? 3 : 2;
  if (m.kind == MlpKind::kDense) {
    p.mlp += matrices * D * m.intermediate;
    if (m.bias) p.biases += (matrices - 1) * m.intermediate + D;
  }
  if (m.kind != MlpKind::kMoe) return;
  p.experts += m.experts * matrices * D * m.expert_intermediate;
  if (m.bias) p.biases += m.experts * ((matrices - 1) * m.expert_intermediate + D);
  p.router += D * m.experts;
  if (m.router_bias) p.biases += m.experts;
  p.mlp += matrices * D * m.shared_intermediate;
  if (m.shared_gate) p.router += D;
}

ParameterBreakdown& operator+=(ParameterBreakdown& a, const ParameterBreakdown& b) {
  a.attention += b.attention;
  a.state += b.state;
  a.mlp += b.mlp;
  a.experts += b.experts;
  a.router += b.router;
  a.norms += b.norms;
  a.biases += b.biases;
  return a;
}

}  // namespace

bool ModelSpec::is_moe() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerSpec& l) { return l.mlp.kind == MlpKind::kMoe; });
}

std::vector<LayerKind> layer_kinds(const ModelSpec& model) {
  return layer_kinds(model, 0, model.num_hidden_layers());
}

std::vector<LayerKind> layer_kinds(const ModelSpec& model, std::int32_t first, std::int32_t count) {
  SIM_CHECK(first >= 0 && count >= 0 && first + count <= model.num_hidden_layers());
  std::vector<LayerKind> kinds;
  for (std::int32_t i = first; i < first + count; ++i) {
    const LayerSpec& layer = model.layers[static_cast<std::size_t>(i)];
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const LayerKind& kind) { return kind.layer == layer; });
    if (same == kinds.end()) {
      kinds.push_back({layer, 1});
    } else {
      ++same->count;
    }
  }
  return kinds;
}

bool has_attention(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& l) { return l.mixer.is_attention(); });
}

const MixerSpec& first_attention(const ModelSpec& model) {
  const auto it = std::find_if(model.layers.begin(), model.layers.end(),
                               [](const LayerSpec& l) { return l.mixer.is_attention(); });
  SIM_CHECK(it != model.layers.end(), "a model with attention");
  return it->mixer;
}

std::vector<LayerSpec> alike_layers(std::int32_t count, const LayerSpec& layer) {
  return std::vector<LayerSpec>(static_cast<std::size_t>(count), layer);
}

LayerSpec dense_layer(std::int32_t heads, std::int32_t kv_heads, std::int32_t head_dim,
                      std::int32_t intermediate) {
  LayerSpec layer;
  layer.mixer.heads = heads;
  layer.mixer.kv_heads = kv_heads;
  layer.mixer.head_dim = layer.mixer.v_head_dim = head_dim;
  layer.mlp.intermediate = intermediate;
  return layer;
}

ParameterBreakdown parameter_breakdown(const LayerSpec& layer, std::int64_t hidden_size) {
  ParameterBreakdown p;
  const MixerSpec& m = layer.mixer;
  if (m.kind == MixerKind::kAttention) add_attention(p, m, hidden_size);
  if (m.kind == MixerKind::kLatentAttention) add_latent(p, m, hidden_size);
  if (m.is_attention()) add_sparse(p, m, hidden_size);
  if (m.is_state()) add_state(p, m, hidden_size);
  add_mlp(p, layer.mlp, hidden_size);
  p.norms += layer.norms * hidden_size;
  return p;
}

ParameterBreakdown parameter_breakdown(const ModelSpec& model) {
  const std::int64_t D = model.hidden_size, V = model.vocab_size;
  ParameterBreakdown p;
  p.embedding = V * D;
  p.lm_head = model.tie_word_embeddings ? 0 : V * D;
  p.norms = model.final_norms * D;
  for (const LayerSpec& layer : model.layers) p += parameter_breakdown(layer, D);
  return p;
}

std::int64_t ParameterBreakdown::matrices() const {
  return embedding + lm_head + attention + state + mlp + experts + router;
}

std::int64_t ParameterBreakdown::total() const { return matrices() + norms + biases; }

std::int64_t parameter_count(const ModelSpec& model) { return parameter_breakdown(model).total(); }

std::int64_t active_parameter_count(const ModelSpec& model) {
  std::int64_t idle = 0;
  for (const LayerSpec& layer : model.layers) {
    if (layer.mlp.kind != MlpKind::kMoe) continue;
    MlpSpec one = layer.mlp;  // expert and nothing else
    one.experts = 1;
    one.shared_intermediate = 0;
    one.router_bias = one.shared_gate = false;
    ParameterBreakdown p;
    add_mlp(p, one, model.hidden_size);
    idle += (p.experts + p.biases) * (layer.mlp.experts - layer.mlp.experts_per_tok);
  }
  return parameter_count(model) - idle;
}

std::int64_t matrix_parameter_count(const ModelSpec& model) {
  return parameter_breakdown(model).matrices();
}

LayerCache layer_cache(const LayerSpec& layer, DType kv) {
  const MixerSpec& m = layer.mixer;
  LayerCache cache;
  if (m.is_attention()) {
    const bool latent = m.kind == MixerKind::kLatentAttention;
    const double width = latent              ? m.kv_lora_rank + m.qk_rope_head_dim
                         : m.values_are_keys ? double{1} * m.kv_heads * m.head_dim
                                             : double{1} * m.kv_heads * (m.head_dim + m.v_head_dim);
    const double entry = m.shares_kv ? 0 : width * bytes_per_element(kv);
    const double index =
        m.sparse.index_heads > 0 ? m.sparse.index_head_dim * m.sparse.index_bytes : 0;
    cache.bytes_per_token = (entry + index) / m.sparse.compression;
    if (m.sparse.compression > 1) {
      cache.state_bytes = entry * m.window;  // as they are, beside their compressed entries
    } else {
      cache.window = m.window;
    }
  } else if (m.is_state()) {
    const StateSpec& s = m.state;
    const auto values = static_cast<double>(s.value_width());
    const auto conv = values + 2 * static_cast<double>(s.key_width());
    cache.state_bytes = values * s.key_dim * s.element_bytes +
                        conv * std::max(0, s.conv_kernel - 1) * 2;  // inputs at 16 bits
  }
  return cache;
}

double kv_bytes_per_token(const ModelSpec& model, DType kv) {
  double bytes = 0;
  for (const LayerSpec& layer : model.layers) {
    const LayerCache cache = layer_cache(layer, kv);
    if (cache.window == 0) bytes += cache.bytes_per_token;
  }
  return bytes;
}

double kv_bytes(const ModelSpec& model, DType kv, double tokens) {
  double bytes = 0;
  for (const LayerSpec& layer : model.layers) {
    const LayerCache cache = layer_cache(layer, kv);
    const double kept = cache.window > 0 ? std::min<double>(tokens, cache.window) : tokens;
    bytes += kept * cache.bytes_per_token + cache.state_bytes;
  }
  return bytes;
}

double weight_bytes(const ModelSpec& model, const Precision& precision) {
  const ParameterBreakdown p = parameter_breakdown(model);
  const auto quantised = static_cast<double>(p.attention + p.state + p.mlp + p.experts);
  return quantised * stored_weight_bytes(precision) +
         (static_cast<double>(p.total()) - quantised) * unquantised_bytes(precision.weights);
}

double unquantised_bytes(DType weights) { return std::max(2.0, bytes_per_element(weights)); }

}  // namespace headway
