#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sim/cost/step_shape.h"

namespace headway {

// Rows a step really runs under vLLM's captured CUDA graphs: a step of up to max_capture tokens is
// padded to the next captured size (1, 2, 4, then steps of 8 up to 256, then of 16), a larger one
// runs as it is. Source: vLLM V1 `_set_cudagraph_sizes`; both full graphs (pure decode) and
// piecewise graphs (mixed steps) pad. Attention does no work for the padding. Measured products
// are flat within their noise over such a span (H100, bf16, n 7168, k 5120: 27-33 us for every m
// from 1 to 160), so padding mostly decides which row is read, not how much it costs.
struct CudaGraphs {
  std::int32_t max_capture = 0;  // 0 = eager: no padding
  // What the host takes to launch one kernel of a step that has no graph; 0 = never the bottleneck.
  double launch_us = 0;

  static CudaGraphs vllm(std::int32_t max_num_seqs, std::int32_t max_num_batched_tokens) {
    return {std::min({2 * max_num_seqs, 512, max_num_batched_tokens})};
  }

  std::int32_t padded(std::int32_t tokens) const {
    if (tokens > max_capture || tokens <= 2) return tokens;
    if (tokens <= 4) return std::min(4, max_capture);
    const std::int32_t step = tokens <= 248 ? 8 : 16;
    return std::min((tokens + step - 1) / step * step, max_capture);
  }
  bool captured(std::int32_t tokens) const { return tokens <= max_capture; }

  // Outside a graph kernels are launched one by one while the GPU works: what launching `kernels`
  // of them takes beyond `gpu_us` of work is time that the GPU waits. `gpu_us` leaves attention over
  // the cache and prompts out, which hides launches as well: an upper bound for long contexts, near
  // the truth in small steps, where launches matter. Closed in the rows, so runs stay sums.
  double exposed_us(std::int32_t rows, double kernels, double gpu_us) const {
    if (rows <= 0 || captured(rows)) return 0;
    return std::max(0.0, kernels * launch_us - gpu_us);
  }
};

// CostModel::align under these graphs, as vLLM has it (v1/worker/dp_utils.py, 0.19): where every
// rank's step has a graph, all run the rows of the largest; where one has none, none uses a graph, and
// each runs its own rows.
void align_ranks(std::span<StepShape> ranks, CudaGraphs graphs);

}  // namespace headway
