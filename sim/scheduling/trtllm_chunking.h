#pragma once

#include <cstdint>
#include <span>

namespace headway {

// How TensorRT-LLM cuts prompts to a step (cpp/tensorrt_llm/batch_manager/microBatchScheduler.cpp;
// ContextChunkingPolicy). Amounts are tokens.
enum class ContextChunking : std::uint8_t { kOff, kFirstComeFirstServed, kEqualProgress };

// One prompt that competes for the step's tokens.
struct ContextChunk {
  std::int32_t remaining = 0;  // of the prompt, not yet computed
  std::int32_t drafts = 0;     // in: proposed behind the prompt; out: those that still ride along
  std::int32_t size = 0;       // out: the chunk; 0 = not in this step
};

struct ChunkLimits {
  std::int32_t capacity = 0;     // left of the step's token budget
  std::int32_t longest = 0;      // one chunk at most (max_context_length)
  std::int32_t unit = 0;         // a chunk that ends before its prompt is a multiple of it; >= 1
};

// Sizes the chunks, which do not all fit whole.
// kFirstComeFirstServed: each takes what is left; a cut one is rounded down to the unit, which may
// leave it nothing, and then a shorter prompt behind it may still complete in what remains.
// kEqualProgress: round after round, each grows by one unit as long as that fits.
// Drafts stay only with a prompt that completes, in the room up to the end of its unit.
void size_chunks(ContextChunking policy, const ChunkLimits& limits, std::span<ContextChunk> chunks);

}  // namespace headway
