#include <algorithm>
#include <string>

#include "sim/core/errors.h"
#include "sim/cost/operators.h"
#include "sim/model/layer_split.h"

namespace headway {
namespace {

// What does not divide, "" = all does.
std::string remainder_of(std::int64_t whole, std::int32_t parts, const char* what) {
  if (whole % parts == 0) return "";
  return "a divisor of the " + std::to_string(whole) + " " + what;
}

std::string layer_remainder(const LayerSpec& layer, const RankSplit& split) {
  const std::int32_t tp = split.tensor;
  const MixerSpec& mixer = layer.mixer;
  const MlpSpec& mlp = layer.mlp;
  std::string found;
  const auto check = [&](std::int64_t whole, std::int32_t parts, const char* what) {
    if (found.empty()) found = remainder_of(whole, parts, what);
  };
  if (mixer.is_attention()) {
    check(mixer.heads, tp, "attention heads");
    // Fewer KV heads than GPUs: each is kept by equally many.
    if (mixer.kv_heads >= tp) {
      check(mixer.kv_heads, tp, "KV heads");
    } else if (mixer.kv_heads > 0 && tp % mixer.kv_heads != 0 && found.empty()) {
      found = "a multiple of the " + std::to_string(mixer.kv_heads) + " KV heads";
    }
  }
  if (mixer.is_state()) check(mixer.state.heads, tp, "heads of the state");
  if (mlp.kind == MlpKind::kDense) check(mlp.intermediate, tp, "columns of the MLP");
  if (mlp.kind != MlpKind::kMoe) return found;
  const std::int32_t columns = std::max(1, tp * split.data / split.expert);
  check(mlp.expert_intermediate, columns, "columns of an expert");
  check(mlp.shared_intermediate, tp, "columns of the shared experts");
  return found;
}

std::string remainder(const ModelSpec& model, const RankSplit& split) {
  for (const LayerKind& kind : layer_kinds(model)) {
    const std::string found = layer_remainder(kind.layer, split);
    if (!found.empty()) return found;
  }
  return "";
}

// The next size down and up that the model does divide over.
std::string nearest_sizes(const ModelSpec& model, RankSplit split) {
  const std::int32_t asked = split.tensor, most = std::max(2 * asked, 64);
  const auto fits = [&](std::int32_t size) {
    split.tensor = size;
    return remainder(model, split).empty();
  };
  std::int32_t below = asked - 1, above = asked + 1;
  while (below > 1 && !fits(below)) --below;
  while (above <= most && !fits(above)) ++above;
  std::string text = "nearest: " + std::to_string(std::max(below, 1));
  if (above <= most) text += " or " + std::to_string(above);
  return text;
}

std::string mixer_name(const MixerSpec& m) {
  std::string text;
  switch (m.kind) {
    case MixerKind::kAttention: text = "attention"; break;
    case MixerKind::kLatentAttention: text = "MLA"; break;
    case MixerKind::kMamba2: return "Mamba-2";
    case MixerKind::kGatedDeltaNet: return "Gated DeltaNet";
    case MixerKind::kLinearAttention: return "linear attention";
    case MixerKind::kNone: return "";
  }
  std::string how;
  const auto add = [&how](const std::string& more) { how += (how.empty() ? "" : ", ") + more; };
  if (m.window > 0) add("window " + std::to_string(m.window));
  if (m.sparse.compression > 1) add("1 entry for " + std::to_string(m.sparse.compression));
  if (m.sparse.top_k > 0) add("top " + std::to_string(m.sparse.top_k));
  if (m.shares_kv) add("shared KV");
  return how.empty() ? text : text + " (" + how + ")";
}

std::string layer_name(const LayerSpec& layer) {
  const std::string mixer = mixer_name(layer.mixer);
  if (layer.mlp.kind == MlpKind::kNone) return mixer;
  const std::string mlp = layer.mlp.kind == MlpKind::kMoe ? "MoE" : "MLP";
  return mixer.empty() ? mlp : mixer + " + " + mlp;
}

class Sites {
 public:
  explicit Sites(std::int64_t hidden) : D_(hidden) {}

  std::vector<GemmSite> of(const LayerSpec& own) {
    const MixerSpec& m = own.mixer;
    if (m.kind == MixerKind::kAttention) attention(m);
    if (m.kind == MixerKind::kLatentAttention) latent(m);
    if (m.is_attention()) indexer(m);
    if (m.is_state()) state(m);
    mlp(own.mlp);
    return std::move(sites_);
  }

 private:
  void add(const char* name, std::int64_t n, std::int64_t k, bool quantised = true) {
    sites_.push_back({name, n, k, quantised});
  }

  // Queries come from the hidden state, in one product with the keys and values, or from a latent
  // that is projected beside them.
  void projections(const MixerSpec& m, std::int64_t kv) {
    const std::int64_t q = std::int64_t{m.heads} * m.head_dim * (m.output_gate ? 2 : 1);
    if (m.shares_kv) kv = 0;
    if (m.q_lora_rank > 0) {
      add(kv > 0 ? "qkv_a" : "q_a", m.q_lora_rank + kv, D_);
      add("q_b", q, m.q_lora_rank);
    } else if (m.kind == MixerKind::kLatentAttention) {
      add("q", q, D_);
      if (kv > 0) add("kv_a", kv, D_);
    } else {
      add(kv > 0 ? "qkv" : "q", q + kv, D_);
    }
  }

  // One matrix, or (DeepSeek-V4) a latent a group of heads and one matrix from all latents.
  void output(const MixerSpec& m) {
    const std::int64_t out = std::int64_t{m.heads} * m.v_head_dim;
    const std::int64_t latents = std::int64_t{m.output_groups} * m.output_lora_rank;
    if (latents == 0) return add("o", D_, out);
    add("o_a", latents, out / m.output_groups);
    add("o_b", D_, latents);
  }

  void attention(const MixerSpec& m) {
    const std::int64_t value = m.values_are_keys ? 0 : m.v_head_dim;
    projections(m, m.kv_heads * (m.head_dim + value));
    output(m);
  }

  // Latents are projected on every rank. The product that takes keys and values out of the latent
  // differs between prefill and decode: see latent_operators.cpp.
  void latent(const MixerSpec& m) {
    projections(m, m.kv_lora_rank + m.qk_rope_head_dim);
    output(m);
  }

  // Of a compressed cache: values and gates that entries are mixed from, twice as wide where two
  // strides overlap; the indexer compresses keys of its own.
  void indexer(const MixerSpec& m) {
    const SparseSpec& s = m.sparse;
    const bool compressed = s.compression > 1;
    const std::int64_t mixed = s.overlapping ? 4 : 2;
    if (compressed && !m.shares_kv) add("compress", mixed * m.head_dim, D_);
    if (s.index_heads == 0) return;
    const std::int64_t from = m.q_lora_rank > 0 ? m.q_lora_rank : D_;
    add("index_q", std::int64_t{s.index_heads} * s.index_head_dim, from);
    add("index_k", (compressed ? mixed : 1) * s.index_head_dim + s.index_heads, D_);
  }

  void state(const MixerSpec& m) {
    const std::int64_t value = m.state.value_width(), key = m.state.key_width();
    std::int64_t in = value + 2 * key;
    if (m.kind == MixerKind::kMamba2) in += value + m.state.heads;
    if (m.kind == MixerKind::kGatedDeltaNet) in += value + 2 * m.state.heads;
    add("in", in, D_);
    add("out", D_, value);
  }

  void mlp(const MlpSpec& m) {
    const std::int64_t wide = m.gated ? 2 : 1;
    if (m.kind == MlpKind::kDense) {
      add(m.gated ? "gate_up" : "up", wide * m.intermediate, D_);
      add("down", D_, m.intermediate);
    }
    if (m.kind != MlpKind::kMoe) return;
    add("router", m.experts + (m.shared_gate ? 1 : 0), D_, false);
    if (m.shared_intermediate == 0) return;
    add(m.gated ? "shared_gate_up" : "shared_up", wide * m.shared_intermediate, D_);
    add("shared_down", D_, m.shared_intermediate);
  }

  std::int64_t D_;
  std::vector<GemmSite> sites_;
};

// Popular experts dealt out one after the other: the first rank has the fullest hand, and no way of
// dealing gives a lighter fullest one that knows only the order.
std::vector<double> fullest_hand(const MlpSpec& mlp, std::int32_t ranks) {
  if (mlp.routing_skew == 0) return {};
  const auto all = power_law_chances(mlp.experts, mlp.experts_per_tok, mlp.routing_skew);
  std::vector<double> hand;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(ranks)) {
    hand.push_back(all[i]);
  }
  return hand;
}

void check_sizes(const ModelSpec& model, std::int32_t tensor, std::int32_t pipeline) {
  if (tensor < 1) {
    throw InputError({"", "parallel.tensor_parallel_size", std::to_string(tensor),
                      "a number of GPUs, 1 or more"});
  }
  if (pipeline < 1 || pipeline > model.num_hidden_layers()) {
    throw InputError({"", "parallel.pipeline_parallel_size", std::to_string(pipeline),
                      "a number of stages from 1 to the " +
                          std::to_string(model.num_hidden_layers()) + " layers of " + model.name});
  }
}

}  // namespace

void check_divides(const ModelSpec& model, const RankSplit& split) {
  const std::int32_t gpus = split.tensor * split.data;
  if (split.expert < 1 || gpus % split.expert != 0) {
    std::int32_t below = std::min(split.expert, gpus), above = below;
    while (below > 1 && gpus % below != 0) --below;
    while (above < gpus && gpus % above != 0) ++above;
    below = std::max(below, 1);
    const std::string up = above != below ? " or " + std::to_string(above) : "";
    throw InputError({"", "parallel.expert_parallel_size", std::to_string(split.expert),
                      "a divisor of the " + std::to_string(gpus) +
                          " GPUs that share the experts (tensor x data); nearest: " +
                          std::to_string(below) + up});
  }
  const std::string found = remainder(model, split);
  if (found.empty()) return;
  throw InputError({"", "parallel.tensor_parallel_size", std::to_string(split.tensor),
                    found + " of " + model.name + "; " + nearest_sizes(model, split)});
}

RankOperators rank_operators(const ModelSpec& model, const Precision& precision,
                             const RankSplit& split) {
  check_sizes(model, split.tensor, split.pipeline);
  RankOperators ops;
  ops.layers = model.num_hidden_layers();
  ops.hidden = model.hidden_size;
  ops.tensor_parallel = split.tensor;
  ops.pipeline_parallel = split.pipeline;
  ops.data_parallel = split.data;
  ops.expert_parallel = split.expert;
  ops.precision = precision;
  // vLLM pads the vocabulary to a multiple of 64 before it splits it.
  const std::int64_t padded_vocab = (std::int64_t{model.vocab_size} + 63) / 64 * 64;
  ops.vocab = (padded_vocab + split.tensor - 1) / split.tensor;
  check_divides(model, split);
  const std::int32_t columns = std::max(1, split.tensor * split.data / split.expert);
  for (const LayerKind& kind : layer_kinds(model)) {
    RankLayer layer;
    layer.name = layer_name(kind.layer);
    layer.count = kind.count;
    layer.spec = split_layer(kind.layer, split.tensor, columns);
    layer.gemms = Sites(ops.hidden).of(layer.spec);
    layer.experts_held = experts_held(layer.spec.mlp, split.expert);
    layer.expert_chances = fullest_hand(layer.spec.mlp, split.expert);
    ops.kinds.push_back(std::move(layer));
  }
  ops.lm_head = {"lm_head", ops.vocab, ops.hidden, false};
  return ops;
}

RankOperators rank_operators(const ModelSpec& model, const Precision& precision,
                             std::int32_t tensor_parallel, std::int32_t pipeline_parallel) {
  return rank_operators(model, precision, RankSplit{tensor_parallel, pipeline_parallel});
}

std::int32_t RankOperators::all_reduces() const {
  std::int32_t sum = 0;
  for (const RankLayer& layer : kinds) sum += layer.count * layer.halves();
  return sum;
}

}  // namespace headway
