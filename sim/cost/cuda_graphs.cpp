#include "sim/cost/cuda_graphs.h"

namespace headway {

void align_ranks(std::span<StepShape> ranks, CudaGraphs graphs) {
  constexpr std::int32_t kDummyTokens = 1;
  std::int32_t largest = 0, sum = 0;
  for (StepShape& rank : ranks) {
    rank.padded_tokens = std::max(rank.tokens, kDummyTokens);
    largest = std::max(largest, rank.padded_tokens);
  }
  const bool graph = graphs.captured(largest);
  for (StepShape& rank : ranks) {
    if (graph) rank.padded_tokens = graphs.padded(largest);
    sum += rank.padded_tokens;
  }
  for (StepShape& rank : ranks) rank.group_tokens = sum;
}

}  // namespace headway
