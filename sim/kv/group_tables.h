#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kv/block_pool.h"
#include "sim/kv/kv_layout.h"
#include "sim/kv/kv_usage.h"
#include "sim/workload/request.h"

namespace headway {

struct KvDemand;
struct PagedKvOptions;

// The block tables of PagedKv for layouts with several groups, windows or states: one table a group
// for each sequence, all over one pool, as vLLM V1's hybrid KV cache manager keeps them (v0.19;
// vllm/v1/core/single_type_kv_cache_manager.py and kv_cache_coordinator.py):
//  - before a sequence takes blocks, those that have left a group's window are freed, and the null
//    block stands in their place;
//  - a prefix is found where every group has what the next token will look at: full attention all
//    of its blocks, a window the last ones. Groups of several block sizes agree on a length that is
//    a multiple of each;
//  - with recurrent layers nothing is cached: vLLM leaves prefix caching of such models off
//    (ModelConfig.is_prefix_caching_supported).
// Nothing is forked or gathered here. Windowed layers that drop tokens of a step whose drafts are
// then rejected do not get them back (v0.19 is no different).
class GroupTables {
 public:
  // Both must outlive it. REQUIRES: options.layout is not plain; without states, where prefixes are
  // to be cached.
  GroupTables(const PagedKvOptions& options, BlockPool& pool);

  void open(std::uint32_t slot, const Request& request, std::int32_t sample);
  void close(std::uint32_t slot);
  bool counts_only() const;  // blocks have no names

  // Tokens of the longest prefix found; its blocks are remembered for the next allocate().
  std::int32_t lookup(std::uint32_t slot, std::int32_t known_tokens);
  bool fits(std::uint32_t slot, const KvDemand& demand, std::int32_t hit_tokens) const;
  bool allocate(std::uint32_t slot, const KvDemand& demand, std::int32_t hit_tokens);
  void roll_back(std::uint32_t slot, std::int32_t tokens);
  void cache_blocks(std::uint32_t slot, std::int32_t tokens);
  void free(std::uint32_t slot);

  // Decode steps of sequences that store all their known tokens and one more a step: what each
  // takes and gives back. Cuts `steps` to where the blocks may run short or a window begins to
  // slide, and writes the change of each step, with the layout's period().
  std::int64_t growth(std::span<const std::uint32_t> slots, std::int64_t steps,
                      std::vector<std::int32_t>& change) const;
  // So many of them. REQUIRES: growth() allows them; blocks are only counted.
  void grow(std::uint32_t slot, std::int64_t steps);

  // One group's table, the null block for blocks that have left its window.
  const std::vector<BlockId>& table(std::uint32_t slot, std::size_t group) const {
    return tables_[slot].parts[group].blocks;
  }
  std::int64_t blocks_of(std::uint32_t slot) const { return tables_[slot].held; }
  // Entries of all tables; tokens of all sequences, each once, whatever layers keep it.
  void add_to(KvUsage& usage) const;
  void check() const;

 private:
  struct Part {  // a group's
    std::vector<BlockId> blocks;  // empty where blocks are only counted
    std::int64_t size = 0;        // of the table, skipped blocks included
    std::int64_t skipped = 0;     // leading blocks given back
    std::int32_t hashed = 0;      // leading blocks that carry a hash, or did
  };
  struct Table {
    std::vector<Part> parts;
    std::vector<std::uint64_t> chain;  // hashes of the first full blocks, as far as needed
    const Request* request = nullptr;
    std::int32_t sample = 0;
    std::int32_t stored = 0;  // tokens
    std::int64_t held = 0;    // blocks, of all groups
  };

  std::int64_t reach(const KvDemand& demand) const;
  std::int64_t needed(const Table& table, const KvDemand& demand, std::int32_t hit_tokens) const;
  void skip(Table& table, std::int64_t computed);
  void take_hits(Table& table, std::int32_t hit_tokens);
  void take(Table& table, std::int64_t end);
  void store(Table& table, std::int32_t end);
  void hash(Table& table, std::int32_t tokens);
  std::uint64_t key(Table& table, std::size_t group, std::int64_t index);
  BlockId cached(Table& table, std::size_t group, std::int64_t index);
  std::int32_t full_hit(Table& table, std::size_t group, std::int32_t tokens);
  std::int32_t window_hit(Table& table, std::size_t group, std::int32_t tokens);
  std::int64_t window_blocks(const KvGroup& group) const;
  bool shared(const Part& part) const;  // any block that it holds

  const PagedKvOptions& options_;
  const KvLayout& layout_;
  BlockPool& pool_;
  std::vector<Table> tables_;                // by slot
  std::vector<std::vector<BlockId>> hits_;   // of the last lookup, by group
  std::int64_t blocks_ = 0;                  // entries of all tables
  std::int64_t tokens_ = 0;                  // of all sequences
};

}  // namespace headway
