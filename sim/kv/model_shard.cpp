#include "sim/kv/model_shard.h"

#include <algorithm>
#include <cmath>

#include "sim/model/layer_split.h"

namespace headway {
namespace {

// vLLM's sampler, warmed up with top-k and top-p on: logits as the LM head gives them (half a
// copy), in fp32, sorted, their 8-byte indices (two), softmax, cumulative sum.
constexpr double kLogitCopies = 6.5;  // of fp32
constexpr std::int64_t kVocabularyPadding = 64;

// Between operators, whatever they compute in: 16 bits, or 32 where nothing is narrower.
std::int64_t activation_width(const Precision& precision) {
  return precision.activations == DType::kFp32 ? 4 : 2;
}

}  // namespace

ModelShard::ModelShard(const ModelSpec& model, const MemoryOptions& options, std::int32_t stage)
    : model_(model), options_(options), stage_(stage) {
  const std::int32_t stages = options.pipeline_parallel_size;
  const std::int32_t each = model.num_hidden_layers() / stages;
  const std::int32_t rest = model.num_hidden_layers() % stages;
  for (std::int32_t s = 0; s <= stage; ++s) {
    const std::int32_t from_last = stages - 1 - s;
    first_layer_ += layers_;
    layers_ = each + (from_last >= 1 && from_last <= rest ? 1 : 0);
  }
}

LayerSpec ModelShard::own(const LayerSpec& layer) const {
  const std::int32_t tp = options_.tensor_parallel_size;
  const std::int32_t all = tp * options_.data_parallel_size;
  return split_layer(layer, tp, std::max(1, all / options_.expert_parallel_size));
}

double ModelShard::layer_weight_bytes(const LayerSpec& layer) const {
  const std::int32_t spread = options_.expert_parallel_size;
  const LayerSpec own = this->own(layer);
  const ParameterBreakdown p = parameter_breakdown(own, model_.hidden_size);
  double experts = static_cast<double>(p.experts);
  if (own.mlp.experts > 0) experts *= 1.0 * experts_held(own.mlp, spread) / own.mlp.experts;
  const double quantised = static_cast<double>(p.attention + p.state + p.mlp) + experts;
  return quantised * stored_weight_bytes(options_.precision) +
         static_cast<double>(p.router + p.norms + p.biases) *
             unquantised_bytes(options_.precision.weights);
}

std::int64_t ModelShard::weight_bytes() const {
  double bytes = 0;
  for (const LayerKind& kind : layer_kinds(model_, first_layer_, layers_)) {
    bytes += kind.count * layer_weight_bytes(kind.layer);
  }
  const std::int64_t D = model_.hidden_size;
  const std::int64_t table = padded_vocabulary() / options_.tensor_parallel_size * D;
  const bool first = stage_ == 0, last = stage_ == options_.pipeline_parallel_size - 1;
  std::int64_t ends = 0;
  if (first) ends += table;
  if (last) ends += model_.final_norms * D + (first && model_.tie_word_embeddings ? 0 : table);
  bytes += static_cast<double>(ends) * unquantised_bytes(options_.precision.weights);
  return static_cast<std::int64_t>(std::ceil(bytes)) + rotary_bytes();
}

std::int64_t ModelShard::activation_bytes() const {
  const std::int64_t tokens = options_.max_num_batched_tokens, D = model_.hidden_size;
  const std::int64_t width = activation_width(options_.precision);
  std::int64_t widest = 0;
  for (const LayerKind& kind : layer_kinds(model_, first_layer_, layers_)) {
    const LayerSpec own = this->own(kind.layer);
    widest = std::max({widest, mixer_activations(own), mlp_activations(own)});
  }
  const std::int64_t forward = tokens * (2 * D + widest) * width;
  if (stage_ != options_.pipeline_parallel_size - 1) return forward;
  const std::int64_t rows = std::min<std::int64_t>(options_.max_num_seqs, tokens);
  const auto sampling = static_cast<std::int64_t>(
      kLogitCopies * 4 * static_cast<double>(rows * padded_vocabulary()));
  return std::max(forward, tokens * D * width + sampling);
}

// Queries, keys, values and the mixed values beside each other. A recurrent mixer holds its wide
// projection, and what it mixes of it.
std::int64_t ModelShard::mixer_activations(const LayerSpec& own) const {
  const MixerSpec& m = own.mixer;
  if (m.is_state()) return 3 * m.state.value_width() + 4 * m.state.key_width();
  const std::int64_t q = std::int64_t{m.heads} * m.head_dim;
  const std::int64_t out = std::int64_t{m.heads} * m.v_head_dim;
  std::int64_t wide = q + out + std::int64_t{m.kv_heads} * (m.head_dim + m.v_head_dim);
  if (m.output_gate) wide += q;
  if (m.kind == MixerKind::kLatentAttention) {
    wide += m.q_lora_rank + m.kv_lora_rank + m.qk_rope_head_dim;
  }
  return wide;
}

// Gate and up side by side, and their product. Experts work on a copy of the token each; the first
// and the last product share a buffer.
std::int64_t ModelShard::mlp_activations(const LayerSpec& own) const {
  const MlpSpec& mlp = own.mlp;
  const std::int64_t first = mlp.gated ? 2 : 1, D = model_.hidden_size;
  if (mlp.kind == MlpKind::kDense) return (first + 1) * mlp.intermediate;
  if (mlp.kind == MlpKind::kNone) return 0;
  const std::int64_t F = mlp.expert_intermediate;
  return mlp.experts_per_tok * (std::max(first * F, D) + F) +
         (first + 1) * mlp.shared_intermediate;
}

std::int64_t ModelShard::padded_vocabulary() const {
  if (options_.tensor_parallel_size == 1) return model_.vocab_size;
  const std::int64_t unit = kVocabularyPadding * options_.tensor_parallel_size;
  return (model_.vocab_size + unit - 1) / unit * unit;
}

// cos and sin of every position, once a model.
std::int64_t ModelShard::rotary_bytes() const {
  if (!has_attention(model_)) return 0;
  const MixerSpec& m = first_attention(model_);
  const std::int64_t turned =
      m.kind == MixerKind::kLatentAttention ? m.qk_rope_head_dim : m.head_dim;
  return std::int64_t{model_.max_position_embeddings} * turned *
         activation_width(options_.precision);
}

}  // namespace headway
