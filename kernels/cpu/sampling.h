#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway::kernels::cpu {

struct SamplingOptions {
  float temperature = 1;   // > 0
  std::int32_t top_k = 0;  // 0 = all
  float top_p = 1;         // the smallest set of likeliest tokens that reach this share
};

// Draws a token from softmax(logits / temperature), cut to the top_k likeliest and of those to the
// nucleus that reaches top_p (Holtzman et al. 2020), both as vLLM applies them. `uniform` in [0,
// 1). The buffer is for reuse.
struct RankedToken {
  float weight;
  std::int32_t token;
};
std::int32_t sample_top_k_top_p(std::span<const float> logits, const SamplingOptions& options,
                                double uniform, std::vector<RankedToken>& buffer);

}  // namespace headway::kernels::cpu
