#pragma once

#include <cstdint>

namespace headway {

// The state of a replica's KV cache, in blocks (contiguous allocators and token pools convert).
struct KvUsage {
  std::int64_t total_blocks = 0;    // that can ever be held
  std::int64_t held_blocks = 0;     // referenced by at least one sequence
  std::int64_t free_blocks = 0;     // not referenced (prefix-cached ones included)
  std::int64_t cached_blocks = 0;   // of the free ones, those still holding reusable tokens
  std::int64_t block_size = 0;      // tokens; 0 = blocks hold different things (kv_layout.h)
  std::int64_t table_blocks = 0;    // entries of all block tables: what would be held if nothing were
                                    // shared. 0 = this KV shares nothing (it equals held_blocks)
  // Tokens whose KV sits in held blocks (waste = held * block_size - it); with block_size 0 those of
  // the sequences, whatever is kept of each.
  std::int64_t tokens_stored = 0;
  std::int64_t largest_free_run = 0;  // blocks; contiguous allocators only (external fragmentation)
  // Contiguous allocators only; held * block_size = tokens_stored + the two.
  std::int64_t tokens_reserved_later = 0;  // reserved, to be stored before the sequence ends
  std::int64_t tokens_never_used = 0;      // reserved and never stored (internal fragmentation)
  std::uint64_t prefix_queries = 0;   // tokens looked up in the prefix cache so far
  std::uint64_t prefix_hits = 0;      // tokens found
  std::uint64_t host_hits = 0;        // of them, in host memory (host_tier.h)
};

}  // namespace headway
