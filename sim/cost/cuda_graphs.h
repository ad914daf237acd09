#pragma once

#include <algorithm>
#include <cstdint>

namespace headway {

// Rows a step really runs under vLLM's captured CUDA graphs: a step of up to max_capture tokens is
// padded to the next captured size (1, 2, 4, then steps of 8 up to 256, then of 16), a larger one
// runs as it is. Source: vLLM V1 `_set_cudagraph_sizes`; both full graphs (pure decode) and
// piecewise graphs (mixed steps) pad. Attention does no work for the padding. Measured products
// are flat within their noise over such a span (H100, bf16, n 7168, k 5120: 27-33 us for every m
// from 1 to 160), so padding mostly decides which row is read, not how much it costs.
struct CudaGraphs {
  std::int32_t max_capture = 0;  // 0 = eager: no padding

  static CudaGraphs vllm(std::int32_t max_num_seqs, std::int32_t max_num_batched_tokens) {
    return {std::min({2 * max_num_seqs, 512, max_num_batched_tokens})};
  }

  std::int32_t padded(std::int32_t tokens) const {
    if (tokens > max_capture || tokens <= 2) return tokens;
    if (tokens <= 4) return std::min(4, max_capture);
    const std::int32_t step = tokens <= 248 ? 8 : 16;
    return std::min((tokens + step - 1) / step * step, max_capture);
  }
};

}  // namespace headway
