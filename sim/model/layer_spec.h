#pragma once

#include <cstdint>

namespace headway {

// What mixes a token with those before it.
enum class MixerKind : std::uint8_t {
  kAttention,        // MHA, GQA, MQA: keys and values of every token, or of a window of them
  kLatentAttention,  // MLA: one latent and one RoPE key a token, shared by all heads
  kMamba2,           // state space duality: a state of constant size
  kGatedDeltaNet,    // gated delta rule: the same
  kLinearAttention,  // a sum of outer products: the same
  kNone,             // the layer has an MLP alone
};

// What a recurrent mixer keeps of a sequence: heads x key_dim x value_dim numbers, and the last
// inputs of a short convolution.
struct StateSpec {
  std::int32_t heads = 0;        // of values
  std::int32_t groups = 0;       // of keys and queries (Mamba-2: B and C); divides heads
  std::int32_t key_dim = 0;      // Mamba-2: state_size
  std::int32_t value_dim = 0;    // Mamba-2: head_dim
  std::int32_t conv_kernel = 0;  // taps; 0 = no convolution
  bool conv_bias = false;
  double element_bytes = 4;  // of the state, kept wide as engines have it

  std::int64_t value_width() const { return std::int64_t{heads} * value_dim; }
  std::int64_t key_width() const { return std::int64_t{groups} * key_dim; }
  bool operator==(const StateSpec&) const = default;
};

// Attention that does not look at every token. A mixer with compression and a window keeps both: an
// entry for every `compression` tokens, and the last `window` tokens as they are.
struct SparseSpec {
  std::int32_t compression = 1;     // tokens that share one entry of the cache (CSA, HCA)
  bool overlapping = false;         // an entry mixes the tokens of two strides (CSA)
  std::int32_t top_k = 0;           // entries that a query attends to; 0 = all (DSA)
  std::int32_t index_heads = 0;     // of the indexer that chooses them; 0 = none
  std::int32_t index_head_dim = 0;  // it keeps one key of this width an entry
  std::int32_t index_bytes = 1;     // an element of that key

  bool operator==(const SparseSpec&) const = default;
};

// Which fields mean something depends on `kind`.
struct MixerSpec {
  MixerKind kind = MixerKind::kAttention;
  // Both kinds of attention.
  std::int32_t heads = 0;       // N, of queries
  std::int32_t kv_heads = 0;    // K; of MLA as many as heads, as far as its prefill goes
  std::int32_t head_dim = 0;    // H of queries and keys; MLA: the RoPE part included
  std::int32_t v_head_dim = 0;  // of values; == head_dim but for MLA
  std::int32_t window = 0;      // tokens that a query sees, itself included; 0 = all
  bool sinks = false;           // a learnt logit a head that takes attention away
  bool qk_norm = false;         // an RMSNorm on queries and keys
  bool qkv_bias = false;
  bool output_bias = false;
  bool output_gate = false;      // a gate as wide as the queries, from a projection of its own
  bool shares_kv = false;        // cross-layer sharing: reads the cache of the nearest layer before
                                 // that keeps one
  bool values_are_keys = false;  // one vector a token serves as both (DeepSeek-V4)
  SparseSpec sparse;
  std::int32_t q_lora_rank = 0;  // of both kinds; 0 = queries come from the hidden state at once
  // Latent attention.
  std::int32_t kv_lora_rank = 0;  // C
  std::int32_t qk_rope_head_dim = 0;
  // The output by groups of heads, each through a latent (DeepSeek-V4); 0 = one matrix.
  std::int32_t output_lora_rank = 0;  // of a group
  std::int32_t output_groups = 0;
  StateSpec state;  // of the recurrent kinds

  bool is_attention() const {
    return kind == MixerKind::kAttention || kind == MixerKind::kLatentAttention;
  }
  bool is_state() const { return !is_attention() && kind != MixerKind::kNone; }
  bool operator==(const MixerSpec&) const = default;
};

enum class MlpKind : std::uint8_t { kDense, kMoe, kNone };

struct MlpSpec {
  MlpKind kind = MlpKind::kDense;
  bool gated = true;  // three matrices (gate, up, down), else two
  bool bias = false;
  std::int32_t intermediate = 0;  // F, of a dense MLP
  // Mixture of experts.
  std::int32_t experts = 0;
  std::int32_t experts_per_tok = 0;
  std::int32_t expert_intermediate = 0;
  std::int32_t shared_intermediate = 0;  // of all shared experts together; 0 = none
  bool shared_gate = false;              // a logit that scales the shared experts
  bool router_bias = false;
  double routing_skew = 0;  // exponent of the power law of experts' loads; 0 = uniform

  bool operator==(const MlpSpec&) const = default;
};

struct LayerSpec {
  MixerSpec mixer;
  MlpSpec mlp;
  std::int32_t norms = 2;  // RMSNorms as wide as the model

  bool operator==(const LayerSpec&) const = default;
};

}  // namespace headway
