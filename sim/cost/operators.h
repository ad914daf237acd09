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
  std::string name;  // qkv, o, gate_up, down, router, lm_head, ...
  std::int64_t n = 0;
  std::int64_t k = 0;
  // Router and LM head stay at 16 bits where the other products are quantised, as published
  // checkpoints have it.
  bool quantised = true;
};

// The layers of a model that are alike, as one GPU holds them.
struct RankLayer {
  std::string name;         // "attention (window 4096) + MoE"
  std::int32_t count = 0;   // of the whole model
  LayerSpec spec;           // split_layer(): this rank's heads, states and columns
  std::vector<GemmSite> gemms;  // every row of a step runs through each
  std::int32_t experts_held = 0;
  // The chance that a token goes to each of the experts held here, where loads are uneven: of the
  // fullest rank when experts are spread. Empty = top_k / experts for all.
  std::vector<double> expert_chances;

  std::int64_t heads() const { return spec.mixer.heads; }
  std::int64_t kv_heads() const { return spec.mixer.kv_heads; }
  std::int64_t head_dim() const { return spec.mixer.head_dim; }
  std::int64_t ffn() const { return spec.mlp.kind == MlpKind::kDense ? spec.mlp.intermediate : 0; }
  bool is_moe() const { return spec.mlp.kind == MlpKind::kMoe; }
  // The halves that end in a sum over the ranks.
  std::int32_t halves() const {
    const bool mixes = spec.mixer.kind != MixerKind::kNone, maps = spec.mlp.kind != MlpKind::kNone;
    return (mixes ? 1 : 0) + (maps ? 1 : 0);
  }
};

// The operators that one GPU runs for a step of a model under tensor parallelism: the widths of
// everything, rank-local where the rank holds a slice (Megatron-LM's split, as vLLM has it: QKV and
// gate/up by columns, O and down by rows, one all-reduce after each of the two halves of a layer).
// Fewer KV heads than GPUs: the KV heads are replicated.
struct RankOperators {
  std::int32_t layers = 0;           // of the whole model; pipeline stages run one after another
  std::int64_t hidden = 0;           // D
  std::int64_t vocab = 0;            // rows of the LM head on this rank
  std::int32_t tensor_parallel = 1, pipeline_parallel = 1;
  // Ranks that step together, each with attention of its own and all with the same experts; groups
  // of GPUs with whole experts of their own.
  std::int32_t data_parallel = 1, expert_parallel = 1;
  bool all_to_all = false;  // rows travel to their experts only (collectives.h)
  Precision precision;
  std::vector<RankLayer> kinds;      // by first occurrence; never empty
  GemmSite lm_head;

  // The layer of models whose layers are all alike.
  const RankLayer& first() const { return kinds.front(); }
  std::int32_t all_reduces() const;  // of a step
};

// How many GPUs the parts of a model are spread over. The experts of a mixture live on all
// tensor x data GPUs: whole ones on `expert` groups of them, each group cutting its own by columns.
struct RankSplit {
  std::int32_t tensor = 1, pipeline = 1, data = 1, expert = 1;
};
// InputError when the model does not divide over the GPUs; it names the nearest sizes that do.
void check_divides(const ModelSpec& model, const RankSplit& split);
RankOperators rank_operators(const ModelSpec& model, const Precision& precision,
                             const RankSplit& split);
RankOperators rank_operators(const ModelSpec& model, const Precision& precision,
                             std::int32_t tensor_parallel, std::int32_t pipeline_parallel);

// The residual stream and attention inputs stay 16 bits wide also where products run in fp8; 32
// where activations are fp32.
inline constexpr double kHiddenBytes = 2;
inline double hidden_bytes(const Precision& precision) {
  return precision.activations == DType::kFp32 ? 4 : kHiddenBytes;
}

// What the operands of this product are stored as in a model of that precision.
Precision gemm_precision(const GemmSite& site, const Precision& precision);

// Plain attention of one layer on one rank, as measured tables are keyed.
struct AttentionWidths {
  double heads = 0, kv_heads = 0, head_dim = 0;
  DType kv = DType::kBf16;
};
// `batch` causal prompts of `new_tokens` each, every one over `context_tokens` cached tokens.
Work prefill_attention_work(const AttentionWidths& widths, double batch, double new_tokens,
                            double context_tokens);
// One query per sequence over `kv_tokens` cached tokens in all (the new ones included).
Work decode_attention_work(const AttentionWidths& widths, double batch, double kv_tokens);

// The products of the chosen experts of one layer. Weights count once per expert that is hit.
struct ExpertWidths {
  double hidden = 0, ffn = 0;           // F of this rank
  double experts = 0, held = 0, per_token = 0;
  double matrices = 3;                  // gate, up, down; 2 without a gate
  std::vector<double> chances;          // RankLayer::expert_chances
  Precision precision;
};
ExpertWidths expert_widths(const RankOperators& ops, const RankLayer& layer);
// Experts held here that at least one of `tokens` tokens goes to. Uniform routing:
// E (1 - (1 - k/E)^tokens).
double experts_hit(const ExpertWidths& widths, double tokens);
// Pairs of a token and an expert held here.
double expert_rows(const ExpertWidths& widths, double tokens);
Work experts_work(const ExpertWidths& widths, double tokens);
// The chance of each expert, most popular first, when loads follow rank^-skew and a token goes to
// `per_token` different ones: they sum to per_token, none is above 1.
std::vector<double> power_law_chances(std::int32_t experts, std::int32_t per_token, double skew);

// Message of one all-reduce, and of one pipeline send.
double hidden_message_bytes(const RankOperators& ops, double tokens);

// All weight bytes of the model over all ranks, embedding and LM head counted as two matrices,
// norms not counted: the lecture's 2VD + 3DFL + (2DNH + 2DKH)L.
double lecture_weight_bytes(const ModelSpec& model, const Precision& precision);

}  // namespace headway
