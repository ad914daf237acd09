#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kv/growth_rows.h"
#include "sim/kv/kv_usage.h"
#include "sim/kv/radix_cache.h"

namespace headway {

// KV memory as SGLang v0.5.5.post3 keeps it
// (mem_cache/{allocator,common,radix_cache,chunk_cache}.py): a pool of token slots, handed out in
// pages. Every token slot is
//   available  in no use;
//   evictable  in the radix tree, locked by nobody;
//   protected  in the radix tree, on the path of a running sequence;
//   private    of one sequence, not (yet) in the tree.
// Without prefix caching there is no tree and nothing is ever evictable or protected.
//
// A sequence is named by its slot. It first locks the prefix that it found in the tree, then
// extends over new tokens, hands its whole pages to the tree when its prompt (or a chunk) is
// computed, and again when it ends. What another sequence has put there in the meantime is given
// back and shared.
class TokenPool {
 public:
  TokenPool(std::int64_t tokens, std::int32_t page_size, bool prefix_caching);

  // Ties a slot to a request, whose text is copied: the tree may hold it after the request is gone.
  void open(std::uint32_t slot, const Request& request);
  // REQUIRES: the slot holds nothing.
  void close(std::uint32_t slot);

  // The longest prefix of the slot's first `tokens` tokens in the tree; refreshes its access time.
  RadixCache::Match lookup(std::uint32_t slot, std::int32_t tokens);
  // The slot holds that prefix from now on. REQUIRES: it holds nothing; nothing evicted in between.
  void lock_prefix(std::uint32_t slot, const RadixCache::Match& match);
  void unlock_prefix(std::uint32_t slot);

  // Evicts `tokens` tokens (not just what is missing) if fewer are available; whether enough are.
  bool make_room(std::int64_t tokens);
  // Tokens that the slot can take without a new page.
  std::int32_t slack(std::uint32_t slot) const;
  // The slot stores that many more tokens. REQUIRES: the pages for it are available.
  void extend(std::uint32_t slot, std::int32_t tokens);
  // `steps` decode steps of the slots: in each, make_room() for the pages that they need, then for
  // one page a slot, whatever they need, then extend() each by a token. REQUIRES: the pages can be
  // had.
  void decode(std::span<const std::uint32_t> slots, std::int64_t steps);

  // Slots that grow together, by one token with every tick(), as that many extend() would have it.
  // Between gather() and scatter() only cache_prefix() may be called besides.
  void gather(std::uint32_t slot);
  void scatter(std::uint32_t slot);
  // That the next tick takes.
  std::int64_t pages_next_tick() const { return rows_.next(); }
  // What each of the next out.size() ticks takes, a page's tokens at most.
  void pages_ahead(std::span<std::int32_t> out) const { rows_.ahead(out); }
  // REQUIRES: the pages are available.
  void tick();
  // `steps` decode steps of the gathered alone, as decode() has it.
  void repeat(std::int64_t steps);

  // The slot's first `tokens` tokens are computed: their whole pages go into the tree and are
  // locked.
  void cache_prefix(std::uint32_t slot, std::int32_t tokens);
  // The sequence ended: the whole pages of its first `tokens` tokens stay in the tree, unlocked.
  void release(std::uint32_t slot, std::int32_t tokens);
  // What is its own is freed; what it shares stays in the tree.
  void drop(std::uint32_t slot);

  std::int32_t stored(std::uint32_t slot) const { return stored(tables_[slot]); }
  const TokenText& text(std::uint32_t slot) const { return tables_[slot].text; }
  const RadixCache& tree() const { return tree_; }

  bool prefix_caching() const { return prefix_caching_; }
  std::int32_t page_size() const { return page_size_; }
  std::int64_t total_tokens() const { return total_pages_ * page_size_; }
  std::int64_t available_tokens() const { return free_pages_ * page_size_; }
  std::int64_t evictable_tokens() const { return tree_.evictable_tokens(); }
  std::int64_t protected_tokens() const { return tree_.protected_tokens(); }

  // Counts a first admission for the hit rate.
  void count_query(std::int64_t tokens, std::int64_t hit_tokens);
  // In blocks of `block_size` tokens, so that engines compare in one unit; one begun counts as
  // held. REQUIRES: it divides page_size, or the other way round.
  KvUsage usage(std::int32_t block_size) const;
  // INV-2. InternalError when the books do not agree. Walks everything: tests only.
  void check() const;

 private:
  static constexpr std::int64_t kAlone = -1;
  struct Table {
    TokenText text;
    RadixCache::NodeId node = RadixCache::kRoot;  // locked; where the shared prefix ends
    std::int32_t shared = 0;                      // tokens in the tree, whole pages
    std::int32_t stored = 0;                      // shared ones included
    std::int64_t gathered_at = kAlone;            // ticks before its first; kAlone = not gathered
    std::uint32_t row = 0;                        // of rows_, while it is
  };
  std::int32_t stored(const Table& table) const {  // after the ticks so far
    if (table.gathered_at == kAlone) return table.stored;
    return table.stored + static_cast<std::int32_t>(rows_.ticks() - table.gathered_at);
  }
  std::int64_t pages_for(std::int64_t tokens) const {
    return (tokens + page_size_ - 1) / page_size_;
  }
  std::int64_t own_pages(const Table& table) const {
    return pages_for(stored(table)) - table.shared / page_size_;
  }
  void give_to_tree(Table& table, std::int32_t tokens);

  std::int32_t page_size_;
  bool prefix_caching_;
  std::int64_t total_pages_;
  std::int64_t free_pages_;
  RadixCache tree_;
  std::vector<Table> tables_;        // by slot
  GrowthRows rows_;                  // of the gathered
  std::int64_t private_tokens_ = 0;  // stored and not shared, over all slots
  std::uint64_t query_tokens_ = 0;
  std::uint64_t hit_tokens_ = 0;
  std::vector<std::int64_t> pages_by_step_;  // buffer of decode(): of a page's length of steps
};

}  // namespace headway
