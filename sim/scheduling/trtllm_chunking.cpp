#include "sim/scheduling/trtllm_chunking.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {
namespace {

void first_come_first_served(const ChunkLimits& limits, std::span<ContextChunk> chunks) {
  std::int32_t left = limits.capacity;
  for (ContextChunk& chunk : chunks) {
    chunk.size = std::min({chunk.remaining, left, limits.longest});
    if (chunk.size < chunk.remaining) chunk.size -= chunk.size % limits.unit;
    left -= chunk.size;
  }
}

void equal_progress(const ChunkLimits& limits, std::span<ContextChunk> chunks) {
  std::int32_t left = limits.capacity;
  bool grew = true;
  while (grew && left > 0) {
    grew = false;
    for (ContextChunk& chunk : chunks) {
      const std::int32_t step = std::min(limits.unit, chunk.remaining - chunk.size);
      if (step == 0 || step > left || chunk.size + step > limits.longest) continue;
      chunk.size += step;
      left -= step;
      grew = true;
    }
  }
}

// A unit is a KV block: drafts are not worth another one.
void fit_drafts(const ChunkLimits& limits, std::span<ContextChunk> chunks) {
  std::int32_t left = limits.capacity;
  for (const ContextChunk& chunk : chunks) left -= chunk.size;
  for (ContextChunk& chunk : chunks) {
    const bool completes = chunk.size > 0 && chunk.size == chunk.remaining;
    const std::int32_t over = chunk.size % limits.unit;
    const std::int32_t room = over == 0 ? 0 : limits.unit - over;
    chunk.drafts =
        completes ? std::min({chunk.drafts, room, limits.longest - chunk.size, left}) : 0;
    left -= chunk.drafts;
  }
}

}  // namespace

void size_chunks(ContextChunking policy, const ChunkLimits& limits,
                 std::span<ContextChunk> chunks) {
  SIM_CHECK(policy != ContextChunking::kOff && limits.unit >= 1 && limits.capacity >= 0);
  for (ContextChunk& chunk : chunks) chunk.size = 0;
  if (policy == ContextChunking::kFirstComeFirstServed) {
    first_come_first_served(limits, chunks);
  } else {
    equal_progress(limits, chunks);
  }
  fit_drafts(limits, chunks);
}

}  // namespace headway
