#include "sim/kv/block_pool.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/core/errors.h"

namespace headway {

BlockPool::BlockPool(std::int64_t num_blocks) {
  SIM_CHECK(num_blocks >= 2 && num_blocks <= std::numeric_limits<BlockId>::max());
  const auto n = static_cast<std::size_t>(num_blocks);
  refs_.assign(n, 0);
  links_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    links_[i].next = static_cast<BlockId>((i + 1) % n);
    links_[i].previous = static_cast<BlockId>((i + n - 1) % n);
  }
  free_blocks_ = num_blocks - 1;
  hashed_.assign(n, 0);
  hashes_.assign(n, 0);
  chain_next_.assign(n, 0);
  buckets_.assign(std::bit_ceil(n), 0);
}

BlockId BlockPool::take() {
  SIM_CHECK(free_blocks_ > 0);
  const BlockId block = links_[0].next;
  unlink(block);
  if (hashed_[block]) {
    --cached_blocks_;
    drop_hash(block);
  }
  refs_[block] = 1;
  return block;
}

void BlockPool::touch(BlockId block) {
  if (refs_[block]++ > 0) return;
  unlink(block);
  if (hashed_[block]) --cached_blocks_;
}

bool BlockPool::release(BlockId block) {
  SIM_CHECK(refs_[block] > 0);
  if (--refs_[block] > 0) return false;
  const BlockId tail = links_[0].previous;
  links_[block] = {tail, 0};
  links_[tail].next = block;
  links_[0].previous = block;
  ++free_blocks_;
  if (hashed_[block]) ++cached_blocks_;
  return true;
}

void BlockPool::unlink(BlockId block) {
  const Link link = links_[block];
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
  --free_blocks_;
}

void BlockPool::set_hash(BlockId block, std::uint64_t hash) {
  SIM_CHECK(refs_[block] > 0 && !hashed_[block]);
  hashed_[block] = 1;
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
  hashed_[block] = 0;
}

BlockId BlockPool::find(std::uint64_t hash) const {
  BlockId block = buckets_[bucket(hash)];
  while (block != 0 && hashes_[block] != hash) block = chain_next_[block];
  return block;
}

std::vector<BlockId> BlockPool::free_queue() const {
  std::vector<BlockId> queue;
  for (BlockId block = links_[0].next; block != 0; block = links_[block].next) {
    queue.push_back(block);
  }
  return queue;
}

std::vector<BlockId> BlockPool::hashed_blocks() const {
  std::vector<BlockId> blocks;
  for (std::size_t i = 1; i < hashed_.size(); ++i) {
    if (hashed_[i]) blocks.push_back(static_cast<BlockId>(i));
  }
  return blocks;
}

void BlockPool::check() const {
  const std::vector<BlockId> queue = free_queue();
  SIM_CHECK(static_cast<std::int64_t>(queue.size()) == free_blocks_);
  std::int64_t cached = 0;
  for (const BlockId block : queue) {
    SIM_CHECK(refs_[block] == 0);
    SIM_CHECK(links_[links_[block].next].previous == block);
    cached += hashed_[block];
  }
  SIM_CHECK(cached == cached_blocks_);
  SIM_CHECK(refs_[0] == 0 && !hashed_[0]);
  const auto unreferenced = std::count(refs_.begin() + 1, refs_.end(), 0);
  SIM_CHECK(unreferenced == free_blocks_);
  std::int64_t indexed = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    for (BlockId block = buckets_[i]; block != 0; block = chain_next_[block]) {
      SIM_CHECK(hashed_[block] && bucket(hashes_[block]) == i);
      ++indexed;
    }
  }
  SIM_CHECK(indexed == std::count(hashed_.begin(), hashed_.end(), 1));
}

}  // namespace headway
