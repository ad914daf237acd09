#include "sim/cost/operators.h"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"

namespace headway {

Precision gemm_precision(const GemmSite& site, const Precision& precision) {
  Precision own = precision;
  if (!site.quantised && precision.weights != DType::kFp32) {
    own.weights = DType::kBf16;
    if (own.activations != DType::kFp32) own.activations = DType::kBf16;
  }
  return own;
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

ExpertWidths expert_widths(const RankOperators& ops, const RankLayer& layer) {
  const MlpSpec& mlp = layer.spec.mlp;
  ExpertWidths widths;
  widths.hidden = static_cast<double>(ops.hidden);
  widths.ffn = mlp.expert_intermediate;
  widths.experts = mlp.experts;
  widths.held = layer.experts_held;
  widths.per_token = mlp.experts_per_tok;
  widths.matrices = mlp.gated ? 3 : 2;
  widths.chances = layer.expert_chances;
  widths.precision = ops.precision;
  return widths;
}

double experts_hit(const ExpertWidths& widths, double tokens) {
  if (widths.chances.empty()) {
    return widths.held * (1 - std::pow(1 - widths.per_token / widths.experts, tokens));
  }
  double hit = 0;
  for (double chance : widths.chances) hit += 1 - std::pow(1 - chance, tokens);
  return hit;
}

double expert_rows(const ExpertWidths& widths, double tokens) {
  if (widths.chances.empty()) {
    return tokens * widths.per_token * (widths.held / widths.experts);
  }
  double sum = 0;
  for (double chance : widths.chances) sum += chance;
  return tokens * sum;
}

Work experts_work(const ExpertWidths& widths, double tokens) {
  const double rows = expert_rows(widths, tokens);
  const double d = widths.hidden, f = widths.ffn, m = widths.matrices;
  const double h = hidden_bytes(widths.precision);
  return {2 * m * rows * d * f,
          experts_hit(widths, tokens) * m * d * f * stored_weight_bytes(widths.precision) +
              rows * (d * bytes_per_element(widths.precision.activations) + m * f * h + d * h)};
}

// Water filling: shares of the law, but never above 1; what is cut off goes to the others.
std::vector<double> power_law_chances(std::int32_t experts, std::int32_t per_token, double skew) {
  SIM_CHECK(experts >= 1 && per_token >= 0 && per_token <= experts);
  std::vector<double> law, chances(static_cast<std::size_t>(experts), 1.0);
  for (std::int32_t i = 1; i <= experts; ++i) law.push_back(std::pow(i, -skew));
  double left = per_token, sum = 0;
  for (double share : law) sum += share;
  std::size_t first = 0;  // those before are certain
  while (first < law.size() && left > 0 && left * law[first] >= sum) {
    left -= 1;
    sum -= law[first++];
  }
  for (std::size_t i = first; i < law.size(); ++i) {
    chances[i] = std::max(0.0, left) * law[i] / sum;
  }
  return chances;
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
