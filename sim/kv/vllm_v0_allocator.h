#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace headway {

// The blocks of one memory (GPU or host) as vLLM V0 kept them at a0304dc504c8 (2025-04-28, v0.8.5;
// vllm/core/block/{naive_block,prefix_caching_block}.py, vllm/core/evictor.py):
//  - blocks without a hash are freed to a stack: the last one freed is the next one taken;
//  - with prefix caching, a full block is found by its hash (its own content and everything before
//    it) and shared at once. One that loses its last reference goes to the evictor, and is taken
//    for other content only when the stack is empty: least recently used first, of equals the one
//    with the most tokens up to its end;
//  - a full block counts as computed only after the step in which it was filled was planned.
// Ids start at 0. Which of two blocks of equal age and depth goes first is arbitrary in vLLM (it
// compares Python hashes); here the smaller id.
class VllmV0Allocator {
 public:
  using Id = std::int32_t;

  VllmV0Allocator(std::int64_t num_blocks, std::int32_t block_size, bool caching);

  std::int64_t total_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t free_blocks() const {
    return static_cast<std::int64_t>(stack_.size() + evictor_.size());
  }
  std::int64_t cached_blocks() const { return static_cast<std::int64_t>(evictor_.size()); }

  // A block to write into. REQUIRES: free_blocks() > 0.
  Id take();
  // A block for the given full content: the cached one, or a new one that is cached from now on.
  // `end_tokens`: tokens from the sequence's start to the block's end. REQUIRES as take(), when
  // the content is not cached.
  Id take_full(std::uint64_t hash, std::int32_t end_tokens);
  // The block has become full. It is cached; or, when its content is already cached, freed, and the
  // cached one taken in its place. Returns the block to use from now on.
  Id fill(Id block, std::uint64_t hash, std::int32_t end_tokens);
  // One reference less. `full`: it holds block_size tokens.
  void release(Id block, bool full);

  // Prefix caching only.
  void mark_accessed(std::span<const Id> blocks, std::int64_t now_ns);
  void mark_computed();
  // Leading hashes of the chain whose blocks are cached and computed, found by bisection.
  std::size_t computed_prefix(std::span<const std::uint64_t> chain) const;
  // Whether a block, held or free, carries the content.
  bool is_cached(std::uint64_t hash) const { return by_hash_.count(hash) > 0; }
  // Whether taking the content would use up a free block.
  bool would_take(std::uint64_t hash) const;

  std::int32_t references(Id block) const { return blocks_[static_cast<std::size_t>(block)].refs; }
  // For usage only: a holder of the block says how many tokens of it count as stored.
  void store_at_least(Id block, std::int32_t tokens);
  std::int64_t tokens_stored() const { return tokens_stored_; }  // in referenced blocks

  // InternalError when references, stack, evictor and index contradict each other.
  void check() const;

 private:
  struct Block {
    std::int32_t refs = 0;
    std::int32_t stored = 0;
    std::uint64_t hash = 0;
    std::int32_t end_tokens = 0;
    std::int64_t last_access_ns = -1;
    bool cached = false;    // carries `hash` and is its block
    bool computed = false;  // meaningful while referenced
  };
  using Candidate = std::tuple<std::int64_t, std::int32_t, Id>;  // last access, -end_tokens, id
  Block& at(Id block) { return blocks_[static_cast<std::size_t>(block)]; }
  const Block& at(Id block) const { return blocks_[static_cast<std::size_t>(block)]; }
  Candidate candidate(Id block) const;
  void share(Id block);
  void track(Block& block, bool computed);

  std::int32_t block_size_;
  bool caching_;
  std::vector<Block> blocks_;
  std::vector<Id> stack_;  // free and without hash; back = next
  std::set<Candidate> evictor_;
  std::unordered_map<std::uint64_t, Id> by_hash_;
  std::vector<Id> touched_;  // filled since the last mark_computed()
  std::int64_t tokens_stored_ = 0;
};

}  // namespace headway
