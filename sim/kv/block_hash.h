#pragma once

#include <cstdint>

#include "sim/workload/request.h"

namespace headway {

// Names the tokens of one KV block: equal for two blocks exactly when all their tokens are equal
// (token_at), up to collisions of 64-bit hashes. A block whose tokens all come from one source (a
// request of its own, a session, a prefix group, one content id) is named by the source and its
// place in it, in O(1); any other token by token.
std::uint64_t block_content(const Request& request, std::int32_t first_token,
                            std::int32_t block_size);
// Answers to one prompt that differ have a `sample` each, which tells apart the blocks that hold
// any of an answer.
std::uint64_t block_content(const Request& request, std::int32_t sample, std::int32_t first_token,
                            std::int32_t block_size);

// A block's hash covers everything before it as well: a chain over block_content, so that equal
// hashes mean equal prefixes (vLLM V1 v0.16.0, vllm/v1/core/kv_cache_utils.py).
std::uint64_t chain_block_hash(std::uint64_t previous, std::uint64_t content);

}  // namespace headway
