#include "sim/kv/block_pool.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/core/errors.h"

namespace headway {

BlockPool::BlockPool(std::int64_t num_blocks, bool counts_only)
    : usable_blocks_(num_blocks - 1), free_blocks_(num_blocks - 1) {
  SIM_CHECK(num_blocks >= 2 && num_blocks <= std::numeric_limits<BlockId>::max());
  const auto n = static_cast<std::size_t>(num_blocks);
  if (counts_only) return;
  blocks_.resize(n);
  queue_.assign(std::bit_ceil(2 * n), 0);
  for (std::size_t i = 1; i < n; ++i) push(static_cast<BlockId>(i));
  hashes_.assign(n, 0);
  chain_next_.assign(n, 0);
  buckets_.assign(std::bit_ceil(n), 0);
}

BlockId BlockPool::take() {
  SIM_CHECK(free_blocks_ > 0);
  while (!stands_at(slot(head_), head_)) ++head_;
  const BlockId block = slot(head_++);
  --free_blocks_;
  if (blocks_[block].hashed) {
    --cached_blocks_;
    drop_hash(block);
  }
  blocks_[block].refs = 1;
  return block;
}

void BlockPool::touch(BlockId block) {
  if (blocks_[block].refs++ > 0) return;
  --free_blocks_;
  if (blocks_[block].hashed) --cached_blocks_;
}

bool BlockPool::release(BlockId block) {
  SIM_CHECK(blocks_[block].refs > 0);
  if (--blocks_[block].refs > 0) return false;
  push(block);
  ++free_blocks_;
  if (blocks_[block].hashed) ++cached_blocks_;
  return true;
}

void BlockPool::push(BlockId block) {
  if (tail_ - head_ == queue_.size()) close_gaps();
  blocks_[block].place = tail_;
  slot(tail_++) = block;
}

// At least half of a full ring are entries left behind.
void BlockPool::close_gaps() {
  std::uint32_t to = head_;
  for (std::uint32_t from = head_; from != tail_; ++from) {
    const BlockId block = slot(from);
    if (!stands_at(block, from)) continue;
    blocks_[block].place = to;
    slot(to++) = block;
  }
  tail_ = to;
}

void BlockPool::set_hash(BlockId block, std::uint64_t hash) {
  SIM_CHECK(blocks_[block].refs > 0 && !blocks_[block].hashed);
  blocks_[block].hashed = 1;
  hashes_[block] = hash;
  chain_next_[block] = 0;
  BlockId* end = &buckets_[bucket(hash)];
  while (*end != 0) end = &chain_next_[*end];
  *end = block;
}

void BlockPool::drop_hash(BlockId block) {
  BlockId* at = &buckets_[bucket(hashes_[block])];
  while (*at != block) at = &chain_next_[*at];
  *at = chain_next_[block];
  blocks_[block].hashed = 0;
}

BlockId BlockPool::find(std::uint64_t hash) const {
  BlockId block = buckets_[bucket(hash)];
  while (block != 0 && hashes_[block] != hash) block = chain_next_[block];
  return block;
}

std::vector<BlockId> BlockPool::free_queue() const {
  std::vector<BlockId> queue;
  for (std::uint32_t place = head_; place != tail_; ++place) {
    if (stands_at(slot(place), place)) queue.push_back(slot(place));
  }
  return queue;
}

std::vector<BlockId> BlockPool::hashed_blocks() const {
  std::vector<BlockId> blocks;
  for (std::size_t i = 1; i < blocks_.size(); ++i) {
    if (blocks_[i].hashed) blocks.push_back(static_cast<BlockId>(i));
  }
  return blocks;
}

void BlockPool::check() const {
  const std::vector<BlockId> queue = free_queue();
  SIM_CHECK(static_cast<std::int64_t>(queue.size()) == free_blocks_);
  std::int64_t cached = 0;
  for (const BlockId block : queue) {
    SIM_CHECK(blocks_[block].refs == 0);
    cached += blocks_[block].hashed;
  }
  SIM_CHECK(cached == cached_blocks_);
  SIM_CHECK(blocks_[0].refs == 0 && !blocks_[0].hashed);
  const auto unreferenced = std::count_if(blocks_.begin() + 1, blocks_.end(),
                                          [](const Block& block) { return block.refs == 0; });
  SIM_CHECK(unreferenced == free_blocks_);
  std::int64_t indexed = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    for (BlockId block = buckets_[i]; block != 0; block = chain_next_[block]) {
      SIM_CHECK(blocks_[block].hashed && bucket(hashes_[block]) == i);
      ++indexed;
    }
  }
  SIM_CHECK(indexed == std::count_if(blocks_.begin(), blocks_.end(),
                                     [](const Block& block) { return block.hashed != 0; }));
}

}  // namespace headway
