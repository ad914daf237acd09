#pragma once

#include <cstdint>
#include <vector>

namespace headway {

// One prefill chunk: `new_tokens` queries over `context_tokens` KV tokens that were there before. A
// pass over a block of a diffusion model is one too: that its tokens also see those behind them is
// half a block a query, not counted.
struct PrefillChunk {
  std::int32_t new_tokens = 0;
  std::int32_t context_tokens = 0;
};

// What a step asks of the GPU; all a cost model needs to know of it.
struct StepShape {
  std::int32_t tokens = 0;                 // rows through the linear layers: prefill + decode queries
  std::vector<PrefillChunk> prefill;
  std::int32_t decode_sequences = 0;       // sequences with a decode (or verify) query
  std::int32_t decode_query_tokens = 0;    // their queries; == decode_sequences without speculation
  std::int64_t decode_kv_tokens = 0;       // sum of KV lengths they attend to, the new tokens included
  std::int32_t decode_kv_max = 0;          // the longest of them
  std::int32_t sampled_sequences = 0;      // rows through the LM head and the sampler
  std::int32_t scheduled_sequences = 0;    // for host terms
  // Ranks that step together (CostModel::align): rows through this rank's layers, padding included,
  // and through the experts from all ranks. 0 = a step of its own.
  std::int32_t padded_tokens = 0, group_tokens = 0;

  void clear() {
    prefill.clear();
    tokens = decode_sequences = decode_query_tokens = decode_kv_max = 0;
    decode_kv_tokens = 0;
    sampled_sequences = scheduled_sequences = padded_tokens = group_tokens = 0;
  }
};

}  // namespace headway
