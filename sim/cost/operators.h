#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/dtype.h"
#include "sim/model/model_spec.h"

namespace headway {

// What one call of an operator asks of one GPU.
struct Work {
  double flops = 0;
  double bytes = 0;  // to and from device memory
};

// One matrix product of a layer on one GPU: [m, k] x [k, n].
struct GemmSite {
  std::string name;  // qkv, o, gate_up, down, router, lm_head
  std::int64_t n = 0;
  std::int64_t k = 0;
  // Router and LM head stay at 16 bits where the other products are quantised, as published
  // checkpoints have it.
  bool quantised = true;
};

// The operators that one GPU runs for a step of a model under tensor parallelism: the widths of
// everything, rank-local where the rank holds a slice (Megatron-LM's split, as vLLM has it: QKV and
// gate/up by columns, O and down by rows, one all-reduce after each of the two halves of a layer).
// Fewer KV heads than GPUs: the KV heads are replicated.
struct RankOperators {
  std::int32_t layers = 0;           // of the whole model; pipeline stages run one after another
  std::int64_t hidden = 0;           // D
  std::int64_t heads = 0;            // query heads of this rank
  std::int64_t kv_heads = 0;         // KV heads of this rank
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;              // F of this rank (dense)
  std::int64_t vocab = 0;            // rows of the LM head on this rank
  bool qk_norm = false;
  std::int64_t experts = 0, experts_per_token = 0, expert_ffn = 0;  // expert_ffn: whole, not sliced
  std::int32_t tensor_parallel = 1, pipeline_parallel = 1;
  Precision precision;
  std::vector<GemmSite> layer_gemms;  // each once a layer
  GemmSite lm_head;

  bool is_moe() const { return experts > 0; }
  std::int64_t expert_ffn_local() const { return expert_ffn / tensor_parallel; }
};

// InputError when the model does not divide over the GPUs.
RankOperators rank_operators(const ModelSpec& model, const Precision& precision,
                             std::int32_t tensor_parallel, std::int32_t pipeline_parallel);

// The residual stream and attention inputs stay 16 bits wide also where products run in fp8.
inline constexpr double kHiddenBytes = 2;

// What the operands of this product are stored as in a model of that precision.
Precision gemm_precision(const GemmSite& site, const Precision& precision);
Work gemm_work(const GemmSite& site, double m, const Precision& precision);
// The three products of the chosen experts for `tokens` tokens. Weights count once per expert that
// is hit: E (1 - (1 - topk/E)^tokens) of them when routing is uniform.
Work experts_work(const RankOperators& ops, double tokens);
// Attention of one layer on one rank.
struct AttentionWidths {
  double heads = 0, kv_heads = 0, head_dim = 0;
  DType kv = DType::kBf16;
};
AttentionWidths attention_widths(const RankOperators& ops);
// `batch` causal prompts of `new_tokens` each, every one over `context_tokens` cached tokens.
Work prefill_attention_work(const AttentionWidths& widths, double batch, double new_tokens,
                            double context_tokens);
// One query per sequence over `kv_tokens` cached tokens in all (the new ones included).
Work decode_attention_work(const AttentionWidths& widths, double batch, double kv_tokens);
// Norms with residual adds, RoPE, KV write, activation: bytes of ONE layer for `tokens` rows.
double layer_elementwise_bytes(const RankOperators& ops, double tokens);
// Embedding look-up and final norm: bytes of a step, once.
double step_elementwise_bytes(const RankOperators& ops, double tokens);
// Message of one all-reduce (there are two a layer), and of one pipeline send.
double hidden_message_bytes(const RankOperators& ops, double tokens);

// All weight bytes of the model over all ranks, embedding and LM head counted as two matrices,
// norms not counted: the lecture's 2VD + 3DFL + (2DNH + 2DKH)L.
double lecture_weight_bytes(const ModelSpec& model, const Precision& precision);

}  // namespace headway
