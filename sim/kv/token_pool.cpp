#include "sim/kv/token_pool.h"

#include <algorithm>

#include "sim/core/errors.h"

namespace headway {

TokenPool::TokenPool(std::int64_t tokens, std::int32_t page_size, bool prefix_caching)
    : page_size_(page_size),
      prefix_caching_(prefix_caching),
      total_pages_(tokens / page_size),
      free_pages_(total_pages_),
      tree_(page_size),
      rows_(page_size) {
  SIM_CHECK(total_pages_ > 0);
}

void TokenPool::open(std::uint32_t slot, const Request& request) {
  if (slot >= tables_.size()) tables_.resize(slot + 1);
  Table& table = tables_[slot];
  SIM_CHECK(!table.text && table.stored == 0, "KV slot opened twice");
  table = Table();
  if (prefix_caching_) table.text = std::make_shared<const Request>(request);
}

void TokenPool::close(std::uint32_t slot) {
  SIM_CHECK(tables_[slot].stored == 0, "a sequence leaves with its KV");
  tables_[slot] = Table();
}

RadixCache::Match TokenPool::lookup(std::uint32_t slot, std::int32_t tokens) {
  if (!prefix_caching_) return {};
  return tree_.match(tables_[slot].text, tokens);
}

void TokenPool::lock_prefix(std::uint32_t slot, const RadixCache::Match& match) {
  Table& table = tables_[slot];
  SIM_CHECK(table.stored == 0);
  tree_.lock(match.node);
  table.node = match.node;
  table.shared = table.stored = match.tokens;
}

void TokenPool::unlock_prefix(std::uint32_t slot) {
  Table& table = tables_[slot];
  SIM_CHECK(table.stored == table.shared);
  tree_.unlock(table.node);
  table.node = RadixCache::kRoot;
  table.shared = table.stored = 0;
}

bool TokenPool::make_room(std::int64_t tokens) {
  if (available_tokens() >= tokens) return true;
  free_pages_ += tree_.evict(tokens) / page_size_;
  return available_tokens() >= tokens;
}

std::int32_t TokenPool::slack(std::uint32_t slot) const {
  const std::int32_t used = tables_[slot].stored % page_size_;
  return used == 0 ? 0 : page_size_ - used;
}

void TokenPool::extend(std::uint32_t slot, std::int32_t tokens) {
  Table& table = tables_[slot];
  const std::int64_t pages = pages_for(table.stored + tokens) - pages_for(table.stored);
  SIM_CHECK(pages <= free_pages_, "the token pool is exhausted");
  free_pages_ -= pages;
  table.stored += tokens;
  private_tokens_ += tokens;
}

void TokenPool::decode(std::span<const std::uint32_t> slots, std::int64_t steps) {
  const auto length = static_cast<std::size_t>(page_size_);
  pages_by_step_.assign(length, 0);
  for (const std::uint32_t slot : slots) {
    ++pages_by_step_[static_cast<std::size_t>(slack(slot))];
    tables_[slot].stored += static_cast<std::int32_t>(steps);
  }
  private_tokens_ += steps * std::ssize(slots);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t pages = pages_by_step_[static_cast<std::size_t>(step) % length];
    make_room(pages * page_size_);
    make_room(std::ssize(slots) * page_size_);
    SIM_CHECK(pages <= free_pages_, "the token pool is exhausted");
    free_pages_ -= pages;
  }
}

void TokenPool::gather(std::uint32_t slot) {
  Table& table = tables_[slot];
  SIM_CHECK(table.stored > 0 && table.gathered_at == kAlone);
  table.gathered_at = rows_.ticks();
  table.row = rows_.join(slack(slot));
}

void TokenPool::scatter(std::uint32_t slot) {
  Table& table = tables_[slot];
  SIM_CHECK(table.gathered_at != kAlone);
  table.stored = stored(table);
  table.gathered_at = kAlone;
  rows_.leave(table.row);
}

void TokenPool::tick() {
  private_tokens_ += rows_.size();
  const std::int64_t pages = rows_.tick();
  SIM_CHECK(pages <= free_pages_, "the token pool is exhausted");
  free_pages_ -= pages;
}

void TokenPool::repeat(std::int64_t steps) {
  const std::int64_t slots = rows_.size();
  // Nothing is evicted as long as a page for each is left.
  if (free_pages_ - (steps / page_size_ + 1) * slots >= slots) {
    private_tokens_ += steps * slots;
    free_pages_ -= rows_.tick(steps);
    return;
  }
  for (; steps > 0; --steps) {
    make_room(rows_.next() * page_size_);
    make_room(slots * page_size_);
    tick();
  }
}

// The tree takes the pages that it lacks; those that it has already are freed.
void TokenPool::give_to_tree(Table& table, std::int32_t tokens) {
  SIM_CHECK(tokens >= table.shared && tokens <= stored(table));
  const std::int32_t there = tree_.insert(table.text, tokens);
  SIM_CHECK(there >= table.shared, "a locked prefix was evicted");
  free_pages_ += (there - table.shared) / page_size_;
}

void TokenPool::cache_prefix(std::uint32_t slot, std::int32_t tokens) {
  if (!prefix_caching_) return;
  Table& table = tables_[slot];
  give_to_tree(table, tokens - tokens % page_size_);
  const RadixCache::Match match = tree_.match(table.text, tokens);
  tree_.unlock(table.node);
  tree_.lock(match.node);
  private_tokens_ -= match.tokens - table.shared;
  table.node = match.node;
  table.shared = match.tokens;
}

void TokenPool::release(std::uint32_t slot, std::int32_t tokens) {
  if (!prefix_caching_) return drop(slot);
  Table& table = tables_[slot];
  SIM_CHECK(table.gathered_at == kAlone);
  const std::int32_t kept = std::max(table.shared, tokens - tokens % page_size_);
  free_pages_ += pages_for(table.stored) - kept / page_size_;
  give_to_tree(table, kept);
  private_tokens_ -= table.stored - table.shared;
  tree_.unlock(table.node);
  table.node = RadixCache::kRoot;
  table.shared = table.stored = 0;
}

void TokenPool::drop(std::uint32_t slot) {
  Table& table = tables_[slot];
  SIM_CHECK(table.gathered_at == kAlone);
  free_pages_ += own_pages(table);
  private_tokens_ -= table.stored - table.shared;
  tree_.unlock(table.node);
  table.node = RadixCache::kRoot;
  table.shared = table.stored = 0;
}

void TokenPool::count_query(std::int64_t tokens, std::int64_t hit_tokens) {
  if (!prefix_caching_) return;
  query_tokens_ += static_cast<std::uint64_t>(tokens);
  hit_tokens_ += static_cast<std::uint64_t>(hit_tokens);
}

KvUsage TokenPool::usage(std::int32_t block_size) const {
  const std::int64_t cached = evictable_tokens();
  KvUsage usage;
  usage.block_size = block_size;
  usage.total_blocks = total_tokens() / block_size;
  usage.free_blocks = (available_tokens() + cached) / block_size;
  usage.held_blocks = usage.total_blocks - usage.free_blocks;
  usage.cached_blocks = cached / block_size;
  usage.tokens_stored = private_tokens_ + protected_tokens();
  usage.prefix_queries = query_tokens_;
  usage.prefix_hits = hit_tokens_;
  return usage;
}

void TokenPool::check() const {
  tree_.check();
  std::int64_t pages = free_pages_ + (evictable_tokens() + protected_tokens()) / page_size_;
  std::int64_t own = 0;
  for (const Table& table : tables_) {
    pages += own_pages(table);
    own += stored(table) - table.shared;
    SIM_CHECK(table.shared <= stored(table) && table.shared % page_size_ == 0);
  }
  SIM_CHECK(pages == total_pages_, "INV-2: available + evictable + protected + private = total");
  SIM_CHECK(own == private_tokens_, "private tokens");
  SIM_CHECK(free_pages_ >= 0, "more pages given than there are");
}

}  // namespace headway
