#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/kv/block_pool.h"
#include "sim/kv/group_tables.h"
#include "sim/kv/host_tier.h"
#include "sim/kv/kv_layout.h"
#include "sim/kv/kv_usage.h"
#include "sim/workload/request.h"

namespace headway {

struct PagedKvOptions {
  std::int64_t num_blocks = 0;     // the null block included
  std::int32_t block_size = 16;    // tokens
  std::int32_t max_model_len = 0;  // no sequence is given slots beyond it
  bool prefix_caching = false;
  bool counts_only = false;    // no block has a name: for who neither shares blocks nor looks at them
  bool drop_last_hit = false;  // EAGLE and MTP need the hidden states of the last matched block
  std::int64_t host_blocks = 0;  // a second tier; prefix caching under a plain layout only
  KvLayout layout = {};        // where it is not plain: of its groups' block sizes and windows
};

// Cached blocks that hold the first tokens of a sequence.
struct PrefixHit {
  std::int32_t tokens = 0;
  std::span<const BlockId> blocks;  // empty under a layout of groups
  std::int32_t host_tokens = 0;     // the next ones, in host memory
  std::int32_t all_tokens() const { return tokens + host_tokens; }
};

// What a sequence wants in a step, in tokens.
struct KvDemand {
  std::int32_t computed = 0;    // whose KV it has, hits included
  std::int32_t num_tokens = 0;  // that it computes now
  std::int32_t lookahead = 0;   // further slots for a drafter
  std::int32_t known = 0;       // whose identity is known: only these are ever hashed
};

// Block tables over a BlockPool, with the allocation test, the prefix lookup and the hashing rules
// of vLLM V1 (v0.16.0, vllm/v1/core/kv_cache_manager.py, single_type_kv_cache_manager.py).
// A table is addressed by its sequence's slot (a small dense number).
//
// A decode step that needs no new block costs a comparison or two and allocates nothing; without
// prefix caching no hash is ever computed.
//
// Under a layout that is not plain a sequence has a table a group (group_tables.h); nothing is then
// forked or gathered, and prefixes of recurrent models are not cached.
class PagedKv {
 public:
  explicit PagedKv(const PagedKvOptions& options);

  // Ties a slot to a request before its first use. The request must outlive close(). Answers to one
  // prompt that differ have a `sample` each: their blocks are never taken for one another's.
  void open(std::uint32_t slot, const Request& request, std::int32_t sample = 0);
  // REQUIRES: the table is empty.
  void close(std::uint32_t slot);

  // The longest prefix of the sequence's known tokens that sits in cached blocks: full blocks only,
  // and at most known_tokens - 1 tokens, since something must be computed to sample from. Nothing
  // is reserved; the result is valid until the next call that changes the pool.
  PrefixHit lookup(std::uint32_t slot, std::int32_t known_tokens);

  // Whether the blocks for the demand exist; changes nothing.
  bool fits(std::uint32_t slot, const KvDemand& demand, const PrefixHit& hit = {}) const;
  // Gives the slot the blocks it lacks for the demand (after taking `hit` as its first blocks) and
  // hashes those that become full, before the step runs: a later request of the same step may
  // already share them. False when too few are free, and then nothing has changed.
  bool allocate(std::uint32_t slot, const KvDemand& demand, const PrefixHit& hit = {});
  // The empty table `to` gets what `from` has stored, by reference (vLLM V0's fork; PagedAttention,
  // SOSP'23, 4.4): all blocks are shared, the last even where it is not full. A table that is about
  // to write into a block that another one refers to copies it first (copy-on-write): allocate()
  // takes a free block more for it. REQUIRES: both slots are open, for one request.
  void fork(std::uint32_t from, std::uint32_t to);
  std::int64_t copied_blocks() const { return copied_blocks_; }  // so far

  // Drafts were rejected: their tokens leave, their blocks stay.
  void roll_back(std::uint32_t slot, std::int32_t tokens);
  // Hashes the full blocks within the first `tokens` tokens (asynchronous scheduling learns what a
  // step sampled only later).
  void cache_blocks(std::uint32_t slot, std::int32_t tokens);
  // Tables that grow together, by one token with every tick(), in the order in which they were
  // gathered: as that many rounds of allocate() would, block for block, but in the time of the blocks
  // that are taken. Their own books stand still until scatter().
  // REQUIRES: stored tokens as scheduled, no slots beyond the last block, nothing forked.
  void gather(std::uint32_t slot);
  void scatter(std::uint32_t slot);
  bool gathered(std::uint32_t slot) const { return tables_[slot].gathered_at != kAlone; }
  std::int64_t blocks_next_tick() const { return row_sizes_[next_row_]; }
  // That each of the next out.size() ticks takes. REQUIRES: no more than the block size.
  void blocks_ahead(std::span<std::int32_t> out) const {
    const std::size_t first = std::min(out.size(), row_sizes_.size() - next_row_);
    const auto next = row_sizes_.begin() + static_cast<std::ptrdiff_t>(next_row_);
    std::copy_n(next, first, out.begin());
    std::copy_n(row_sizes_.begin(), out.size() - first, out.subspan(first).begin());
  }
  std::int64_t ticks() const { return ticks_; }
  // REQUIRES: the blocks are free.
  void tick(std::int64_t ticks = 1);
  // Hashes the blocks that are full with that tick, of tables gathered after at most `newest` ticks.
  void hash_ticked(std::int64_t tick, std::int64_t newest);

  // From now on blocks have names, if they were only counted so far: any will do, since nobody has
  // looked at one. Before the first fork().
  void name_blocks();
  // Releases the table, last block first, so that the head of a sequence survives longest.
  void free(std::uint32_t slot);

  const std::vector<BlockId>& table(std::uint32_t slot) const { return tables_[slot].blocks; }
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + options_.block_size - 1) / options_.block_size;
  }
  // The groups' tables; null under a plain layout.
  GroupTables* groups() { return groups_.get(); }
  const GroupTables* groups() const { return groups_.get(); }
  // Blocks that a sequence alone has in a step from `computed` tokens to `end`; the least with
  // which it gets there by whatever steps; the most it has at any time with steps so long.
  std::int64_t blocks_of_step(std::int64_t computed, std::int64_t end) const {
    return groups_ ? options_.layout.held(computed, end) : blocks_for(end);
  }
  std::int64_t least_blocks(std::int64_t tokens) const {
    return groups_ ? options_.layout.least(tokens) : blocks_for(tokens);
  }
  std::int64_t most_blocks(std::int64_t tokens, std::int64_t step) const {
    return groups_ ? options_.layout.most(tokens, step) : blocks_for(tokens);
  }
  // Leading blocks of the slot that every sequence with blocks shares; 0 without prefix caching.
  std::int32_t common_prefix_blocks(std::uint32_t slot) const;
  const BlockPool& pool() const { return pool_; }
  std::int32_t block_size() const { return options_.block_size; }
  KvUsage usage() const;
  // Counts a first admission for the hit rate.
  void count_query(std::int64_t tokens, std::int64_t hit_tokens, std::int64_t host_tokens = 0);
  // The sequence was admitted with the hit: its blocks in host memory have been used, and those that
  // are on the GPU alone are written through.
  void use_host_blocks(std::uint32_t slot, const PrefixHit& hit);
  const HostTier& host() const { return host_; }
  // INV-2: references of all tables = references in the pool; free + held = total. O(everything).
  void check() const;

 private:
  static constexpr std::int64_t kAlone = -1;
  struct Table {
    std::vector<BlockId> blocks;     // empty where blocks are only counted
    std::int64_t num_blocks = 0;
    std::int64_t gathered_at = kAlone;  // ticks before its first; kAlone = not gathered
    std::uint32_t row = 0;              // of rows_, while it is gathered
    std::vector<std::uint64_t> chain;  // hashes of the first full blocks, as far as needed
    const Request* request = nullptr;
    std::int32_t capacity = 0;       // num_blocks * block_size
    std::int32_t stored = 0;         // tokens whose KV the table holds
    std::int32_t hashed_blocks = 0;  // leading blocks that carry a hash
    std::int32_t sample = 0;
    bool forked_tail = false;  // its last, partly filled block may be another table's too
  };
  std::int64_t blocks_needed(const Table& table, const KvDemand& demand,
                             const PrefixHit& hit) const;
  bool own_tail(Table& table, std::int64_t growth);
  bool grow(Table& table, const KvDemand& demand, const PrefixHit& hit);
  void store(Table& table, std::int32_t end);
  void hash_blocks(Table& table, std::int32_t tokens);
  std::uint64_t block_hash(Table& table, std::int32_t index);
  std::int64_t stored_in(const Table& table) const;
  std::int64_t tokens_in(const Table& table, std::size_t index) const;
  std::size_t row_of(std::int64_t tick) const {
    return static_cast<std::size_t>(tick % options_.block_size);
  }
  // The row so many ticks after the next. REQUIRES: less than the block size.
  std::size_t row_ahead(std::int64_t ticks) const {
    const std::size_t row = next_row_ + static_cast<std::size_t>(ticks);
    return row < rows_.size() ? row : row - rows_.size();
  }

  PagedKvOptions options_;
  BlockPool pool_;
  HostTier host_;
  std::unique_ptr<GroupTables> groups_;  // null under a plain layout
  std::vector<Table> tables_;      // by slot
  std::vector<BlockId> hits_;      // of the last lookup
  // Gathered tables by the tick, modulo the block size, with which they take a block; with the tick
  // before it, the one that they have becomes full.
  std::vector<std::vector<std::uint32_t>> rows_;
  std::vector<std::int32_t> row_sizes_;  // side by side: all that most ticks look at
  std::int64_t ticks_ = 0;
  std::size_t next_row_ = 1;       // row_of(ticks_ + 1)
  std::int64_t gathered_ = 0;      // tables in rows_
  std::int64_t holders_ = 0;       // tables that hold blocks
  std::int64_t table_blocks_ = 0;  // entries of all tables
  std::int64_t copied_blocks_ = 0;
  std::int64_t tokens_stored_ = 0;  // shared blocks count once
  std::uint64_t query_tokens_ = 0;
  std::uint64_t hit_tokens_ = 0;
  std::uint64_t host_hit_tokens_ = 0;
};

}  // namespace headway
