#include "sim/cost/operators.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway {
namespace {

std::int64_t split(std::int64_t whole, std::int32_t parts, const std::string& model,
                   const char* what) {
  if (whole % parts != 0) {
    throw InputError({"", "parallel.tensor_parallel_size", std::to_string(parts),
                      std::string("a divisor of the ") + std::to_string(whole) + " " + what +
                          " of " + model});
  }
  return whole / parts;
}

}  // namespace

RankOperators rank_operators(const ModelSpec& model, const Precision& precision,
                             std::int32_t tensor_parallel, std::int32_t pipeline_parallel) {
  if (tensor_parallel < 1) {
    throw InputError({"", "parallel.tensor_parallel_size", std::to_string(tensor_parallel),
                      "a number of GPUs, 1 or more"});
  }
  if (pipeline_parallel < 1 || pipeline_parallel > model.num_hidden_layers()) {
    throw InputError({"", "parallel.pipeline_parallel_size", std::to_string(pipeline_parallel),
                      "a number of stages from 1 to the " +
                          std::to_string(model.num_hidden_layers()) + " layers of " + model.name});
  }
  const MixerSpec& attention = first_attention(model);
  const MlpSpec& mlp = model.layers.front().mlp;
  RankOperators ops;
  ops.layers = model.num_hidden_layers();
  ops.hidden = model.hidden_size;
  ops.heads = split(attention.heads, tensor_parallel, model.name, "attention heads");
  ops.kv_heads = attention.kv_heads >= tensor_parallel
                     ? split(attention.kv_heads, tensor_parallel, model.name, "KV heads")
                     : 1;
  ops.head_dim = attention.head_dim;
  ops.qk_norm = attention.qk_norm;
  ops.tensor_parallel = tensor_parallel;
  ops.pipeline_parallel = pipeline_parallel;
  ops.precision = precision;
  // vLLM pads the vocabulary to a multiple of 64 before it splits it.
  const std::int64_t padded_vocab = (std::int64_t{model.vocab_size} + 63) / 64 * 64;
  ops.vocab = (padded_vocab + tensor_parallel - 1) / tensor_parallel;
  ops.layer_gemms.push_back({"qkv", (ops.heads + 2 * ops.kv_heads) * ops.head_dim, ops.hidden});
  ops.layer_gemms.push_back({"o", ops.hidden, ops.heads * ops.head_dim});
  if (model.is_moe()) {
    ops.experts = mlp.experts;
    ops.experts_per_token = mlp.experts_per_tok;
    ops.expert_ffn = mlp.expert_intermediate;
    split(ops.expert_ffn, tensor_parallel, model.name, "columns of an expert");
    ops.layer_gemms.push_back({"router", ops.experts, ops.hidden, false});
  } else {
    ops.ffn = split(mlp.intermediate, tensor_parallel, model.name, "columns of the MLP");
    ops.layer_gemms.push_back({"gate_up", 2 * ops.ffn, ops.hidden});
    ops.layer_gemms.push_back({"down", ops.hidden, ops.ffn});
  }
  ops.lm_head = {"lm_head", ops.vocab, ops.hidden, false};
  return ops;
}

Precision gemm_precision(const GemmSite& site, const Precision& precision) {
  Precision own = precision;
  if (!site.quantised && precision.weights != DType::kFp32) {
    own.weights = DType::kBf16;
    if (own.activations != DType::kFp32) own.activations = DType::kBf16;
  }
  return own;
}

Work gemm_work(const GemmSite& site, double m, const Precision& precision) {
  const Precision own = gemm_precision(site, precision);
  const double n = static_cast<double>(site.n), k = static_cast<double>(site.k);
  return {2 * m * n * k, n * k * bytes_per_element(own.weights) +
                             m * k * bytes_per_element(own.activations) + m * n * kHiddenBytes};
}

Work experts_work(const RankOperators& ops, double tokens) {
  const double e = static_cast<double>(ops.experts);
  const double topk = static_cast<double>(ops.experts_per_token);
  const double d = static_cast<double>(ops.hidden), f = static_cast<double>(ops.expert_ffn_local());
  const double hit = e * (1 - std::pow(1 - topk / e, tokens));
  const double act = bytes_per_element(ops.precision.activations);
  return {6 * tokens * topk * d * f,
          hit * 3 * d * f * bytes_per_element(ops.precision.weights) +
              tokens * topk * (d * act + 3 * f * kHiddenBytes + d * kHiddenBytes)};
}

AttentionWidths attention_widths(const RankOperators& ops) {
  return {static_cast<double>(ops.heads), static_cast<double>(ops.kv_heads),
          static_cast<double>(ops.head_dim), ops.precision.kv};
}

Work prefill_attention_work(const AttentionWidths& widths, double batch, double new_tokens,
                            double context_tokens) {
  const double q = widths.heads * widths.head_dim;
  const double kv = widths.kv_heads * widths.head_dim;
  const double pairs = new_tokens * context_tokens + new_tokens * (new_tokens + 1) / 2;
  return {batch * 4 * q * pairs,
          batch * (2 * kv * (new_tokens + context_tokens) * bytes_per_element(widths.kv) +
                   2 * q * new_tokens * kHiddenBytes)};
}

Work decode_attention_work(const AttentionWidths& widths, double batch, double kv_tokens) {
  const double q = widths.heads * widths.head_dim;
  const double kv = widths.kv_heads * widths.head_dim;
  return {4 * q * kv_tokens,
          2 * kv * kv_tokens * bytes_per_element(widths.kv) + 2 * q * batch * kHiddenBytes};
}

double layer_elementwise_bytes(const RankOperators& ops, double tokens) {
  const double d = static_cast<double>(ops.hidden);
  const double q = static_cast<double>(ops.heads * ops.head_dim);
  const double kv = static_cast<double>(ops.kv_heads * ops.head_dim);
  double elements = 2 * 4 * d;                  // two norms, each reads and writes x and residual
  elements += 2 * (q + kv);                     // RoPE, in place
  if (ops.qk_norm) elements += 2 * (q + kv);
  elements += 2 * kv;                           // KV write: reads what it writes
  if (!ops.is_moe()) elements += 3.0 * static_cast<double>(ops.ffn);  // gate * up; in `moe` rows
  return tokens * (elements * kHiddenBytes + 2 * kv * bytes_per_element(ops.precision.kv));
}

double step_elementwise_bytes(const RankOperators& ops, double tokens) {
  return tokens * (2 + 4) * static_cast<double>(ops.hidden) * kHiddenBytes;
}

double hidden_message_bytes(const RankOperators& ops, double tokens) {
  return tokens * static_cast<double>(ops.hidden) * kHiddenBytes;
}

double lecture_weight_bytes(const ModelSpec& model, const Precision& precision) {
  ParameterBreakdown p = parameter_breakdown(model);
  // Embedding and LM head are two matrices also where one table serves both; no router.
  const std::int64_t vocabulary = 2 * std::int64_t{model.vocab_size} * model.hidden_size;
  const auto parameters =
      static_cast<double>(vocabulary + p.attention + p.state + p.mlp + p.experts);
  return parameters * bytes_per_element(precision.weights);
}

}  // namespace headway
