#include "sim/kv/vllm_v0_allocator.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {

VllmV0Allocator::VllmV0Allocator(std::int64_t num_blocks, std::int32_t block_size, bool caching)
    : block_size_(block_size), caching_(caching), blocks_(static_cast<std::size_t>(num_blocks)) {
  for (std::int64_t id = num_blocks; id > 0; --id) stack_.push_back(static_cast<Id>(id - 1));
}

VllmV0Allocator::Candidate VllmV0Allocator::candidate(Id block) const {
  return {at(block).last_access_ns, -at(block).end_tokens, block};
}

// The first reference begins a new life: the block has not been accessed in it.
void VllmV0Allocator::track(Block& block, bool computed) {
  block.refs = 1;
  block.last_access_ns = -1;
  block.computed = computed;
  block.stored = 0;
}

VllmV0Allocator::Id VllmV0Allocator::take() {
  SIM_CHECK(free_blocks() > 0, "no free block");
  Id id;
  if (!stack_.empty()) {
    id = stack_.back();
    stack_.pop_back();
  } else {
    id = std::get<2>(*evictor_.begin());
    evictor_.erase(evictor_.begin());
    by_hash_.erase(at(id).hash);
    at(id).cached = false;
  }
  track(at(id), false);
  return id;
}

void VllmV0Allocator::share(Id id) {
  Block& block = at(id);
  if (block.refs > 0) {
    ++block.refs;
    return;
  }
  evictor_.erase(candidate(id));
  track(block, true);
}

VllmV0Allocator::Id VllmV0Allocator::take_full(std::uint64_t hash, std::int32_t end_tokens) {
  if (caching_) {
    if (const auto found = by_hash_.find(hash); found != by_hash_.end()) {
      share(found->second);
      return found->second;
    }
  }
  return fill(take(), hash, end_tokens);
}

VllmV0Allocator::Id VllmV0Allocator::fill(Id id, std::uint64_t hash, std::int32_t end_tokens) {
  if (!caching_) return id;
  const auto [entry, is_new] = by_hash_.try_emplace(hash, id);
  if (is_new) {
    Block& block = at(id);
    block.hash = hash;
    block.end_tokens = end_tokens;
    block.cached = true;
    touched_.push_back(id);
    return id;
  }
  release(id, false);
  share(entry->second);
  return entry->second;
}

void VllmV0Allocator::release(Id id, bool full) {
  Block& block = at(id);
  SIM_CHECK(block.refs > 0, "block is not held");
  if (--block.refs > 0) return;
  tokens_stored_ -= block.stored;
  if (caching_ && full) {
    SIM_CHECK(block.cached);
    evictor_.insert(candidate(id));
  } else {
    stack_.push_back(id);
  }
}

void VllmV0Allocator::mark_accessed(std::span<const Id> blocks, std::int64_t now_ns) {
  for (const Id id : blocks) at(id).last_access_ns = now_ns;  // held, so not in the evictor
}

void VllmV0Allocator::mark_computed() {
  for (const Id id : touched_) at(id).computed = true;
  touched_.clear();
}

std::size_t VllmV0Allocator::computed_prefix(std::span<const std::uint64_t> chain) const {
  const auto computed = [this](std::uint64_t hash) {
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end()) return false;
    const Block& block = at(found->second);
    return block.refs == 0 || block.computed;
  };
  const auto end = std::partition_point(chain.begin(), chain.end(), computed);
  return static_cast<std::size_t>(end - chain.begin());
}

bool VllmV0Allocator::would_take(std::uint64_t hash) const {
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() || at(found->second).refs == 0;
}

void VllmV0Allocator::store_at_least(Id id, std::int32_t tokens) {
  Block& block = at(id);
  if (tokens <= block.stored) return;
  tokens_stored_ += tokens - block.stored;
  block.stored = tokens;
}

void VllmV0Allocator::check() const {
  std::int64_t idle = 0;
  std::int64_t tokens = 0;
  std::size_t cached = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const Id id = static_cast<Id>(i);
    SIM_CHECK(block.refs >= 0 && block.stored >= 0 && block.stored <= block_size_);
    if (block.refs == 0) ++idle;
    if (block.refs > 0) tokens += block.stored;
    if (block.cached) {
      ++cached;
      const auto found = by_hash_.find(block.hash);
      SIM_CHECK(found != by_hash_.end() && found->second == id);
    }
    SIM_CHECK((block.refs == 0 && block.cached) == (evictor_.count(candidate(id)) == 1));
  }
  SIM_CHECK(idle == free_blocks(), "INV-2: free blocks differ from those nobody holds");
  SIM_CHECK(tokens == tokens_stored_ && cached == by_hash_.size());
}

}  // namespace headway
