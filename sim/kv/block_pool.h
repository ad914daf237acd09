#pragma once

#include <cstdint>
#include <vector>

namespace headway {

// Index of a KV block; 0 is the null block, which is never handed out.
using BlockId = std::int32_t;

// The pool of KV blocks of a paged cache, as vLLM V1 keeps it (v0.16.0, vllm/v1/core/block_pool.py
// and kv_cache_utils.py):
//  - free blocks stand in one queue, at first 1, 2, ..., N-1; take() pops its head,
//    a block that loses its last reference joins its tail;
//  - a block may carry the hash of the tokens it holds (with all tokens before them). It keeps the
//    hash while it is free, so a later prompt can find it, and loses it only when take() hands the
//    block out anew (lazy eviction). There is no second pool of cached blocks.
//  - blocks of equal hash may coexist; find() returns the one hashed first.
// Every call is O(1) and allocates nothing. Not thread-safe.
//
// Where nothing depends on which block is whose (nothing is shared), a pool can do without names: it
// then only counts, and knows take(n) and give_back(n) alone.
class BlockPool {
 public:
  // REQUIRES: num_blocks >= 2; the null block is one of them.
  explicit BlockPool(std::int64_t num_blocks, bool counts_only = false);

  std::int64_t usable_blocks() const { return usable_blocks_; }
  std::int64_t free_blocks() const { return free_blocks_; }
  std::int64_t cached_blocks() const { return cached_blocks_; }  // free ones that carry a hash
  std::int32_t references(BlockId block) const { return blocks_[static_cast<std::size_t>(block)].refs; }

  // The head of the free queue, with one reference and without its hash.
  // REQUIRES: free_blocks() > 0.
  BlockId take();
  // So many blocks of a pool that only counts. REQUIRES: free_blocks() >= n.
  void take(std::int64_t n) { free_blocks_ -= n; }
  void give_back(std::int64_t n) { free_blocks_ += n; }
  // One more reference; a free block leaves the queue and keeps its hash.
  void touch(BlockId block);
  // One reference less; true when it was the last and the block joined the queue's tail.
  bool release(BlockId block);

  // REQUIRES: the block is referenced and carries no hash.
  void set_hash(BlockId block, std::uint64_t hash);
  bool hashed(BlockId block) const { return blocks_[static_cast<std::size_t>(block)].hashed != 0; }
  BlockId find(std::uint64_t hash) const;  // 0 = none

  std::vector<BlockId> free_queue() const;     // head first
  std::vector<BlockId> hashed_blocks() const;  // ascending
  // Throws InternalError when queue, counters and hash index contradict each other. O(blocks).
  void check() const;

 private:
  struct Block {
    std::int32_t refs = 0;
    std::uint32_t place = 0;  // while it is free: its place in the queue
    std::uint32_t hashed = 0;
  };
  bool stands_at(BlockId block, std::uint32_t place) const {
    const Block& b = blocks_[static_cast<std::size_t>(block)];
    return b.refs == 0 && b.place == place;
  }
  BlockId& slot(std::uint32_t place) { return queue_[place & (queue_.size() - 1)]; }
  BlockId slot(std::uint32_t place) const { return queue_[place & (queue_.size() - 1)]; }
  void push(BlockId block);
  void close_gaps();
  void drop_hash(BlockId block);
  std::size_t bucket(std::uint64_t hash) const { return hash & (buckets_.size() - 1); }

  std::vector<Block> blocks_;
  // The free queue: a ring, walked in order rather than from block to block, which would wait for
  // memory at each. A block that touch() took out of the middle leaves its entry behind; an entry
  // counts only where its block still stands_at() it. Places count up (and round).
  std::vector<BlockId> queue_;
  std::uint32_t head_ = 0, tail_ = 0;
  std::int64_t usable_blocks_;
  std::int64_t free_blocks_;
  std::int64_t cached_blocks_ = 0;

  // Hash index: chains through the blocks themselves, oldest first within a bucket.
  std::vector<std::uint64_t> hashes_;
  std::vector<BlockId> chain_next_;
  std::vector<BlockId> buckets_;
};

}  // namespace headway
