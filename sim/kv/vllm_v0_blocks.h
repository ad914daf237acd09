#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/kv/kv_usage.h"
#include "sim/kv/vllm_v0_allocator.h"
#include "sim/workload/request.h"

namespace headway {

// Block tables over GPU and host memory with the admission and swap tests of vLLM V0 (a0304dc504c8,
// vllm/core/block_manager.py, block/block_table.py, block/prefix_caching_block.py). A table is
// addressed by its sequence's slot. All blocks of a prompt are taken at once; a later token takes a
// block when the last one is full.
//
// Worst-case tests, as there: growing wants one free block even where the last one has room, and
// admission ignores what the prefix cache would save.
class VllmV0Blocks {
 public:
  struct Options {
    std::int64_t num_gpu_blocks = 0;
    std::int64_t num_cpu_blocks = 0;
    std::int32_t block_size = 16;
    std::int64_t watermark_blocks = 0;  // left free by admission and swapping in
    bool prefix_caching = false;
  };
  enum class Fit { kNow, kLater, kNever };
  using Id = VllmV0Allocator::Id;
  using SwapPairs = std::vector<std::pair<Id, Id>>;  // from, to: ids within their memories

  explicit VllmV0Blocks(const Options& options);

  // Ties the slot to a request before any other call; forgets what was known of the last one.
  // The request must outlive the slot's use.
  void open(std::uint32_t slot, const Request& request);

  Fit can_admit(std::int32_t tokens) const;
  // REQUIRES: can_admit(tokens) == kNow, no table.
  void admit(std::uint32_t slot, std::int32_t tokens);
  bool can_append() const { return gpu_.free_blocks() >= 1; }
  // The table covers `tokens` tokens from now on. REQUIRES: can_append() where that is one more.
  void append(std::uint32_t slot, std::int32_t tokens);
  // Tokens of a sequence still to be prefilled that it need not compute. Looked up on the first
  // call after open() or free() and remembered, as vLLM V0 does: what others compute or evict
  // later makes no difference.
  std::int32_t cached_tokens(std::uint32_t slot, std::int32_t known_tokens);
  // Whether that answer is settled.
  bool looked_up(std::uint32_t slot) const {
    return !options_.prefix_caching || tables_[slot].cached >= 0;
  }
  void free(std::uint32_t slot);

  bool can_swap_out(std::uint32_t slot) const;
  Fit can_swap_in(std::uint32_t slot) const;
  // Move the table between the memories; appends the copies to `pairs`.
  void swap_out(std::uint32_t slot, SwapPairs& pairs);
  void swap_in(std::uint32_t slot, SwapPairs& pairs);

  // The sequence takes part in a step planned at `now`, after which KV of its first `computed`
  // tokens exists.
  void use(std::uint32_t slot, SimTime now, std::int32_t computed);
  void end_of_plan() {
    gpu_.mark_computed();
    cpu_.mark_computed();
  }

  // Tokens that the last block of the table has room for.
  std::int32_t room(std::uint32_t slot) const {
    const Table& table = tables_[slot];
    return static_cast<std::int32_t>(table.ids.size()) * options_.block_size - table.tokens;
  }
  // Whether what it decodes from now on is certain to be unlike anything that another one says.
  bool answer_is_its_own(std::uint32_t slot) const;
  // Of the next `steps` decode steps of the slots, the first ones in which no block becomes full
  // whose content is cached already or another of the slots has too: what then happens to the free
  // blocks does not depend on content. Looks a few blocks ahead; not at all where nobody else can
  // have the content.
  std::int64_t steps_of_new_content(std::span<const std::uint32_t> slots, std::int64_t steps) const;
  // `steps` decode steps of the slots: in each append() a token for one after the other, use() and
  // end_of_plan(). The time of their last use stays. REQUIRES: on the GPU, all known tokens stored,
  // the free blocks for it, and steps_of_new_content().
  void extend(std::span<const std::uint32_t> slots, std::int64_t steps);

  // Slots that grow together, by one token with every tick(), in the order in which they were
  // gathered: as that many append() and use() would have it, block for block, in the time of the
  // blocks that are taken. Between gather() and scatter() nothing else happens to one.
  // REQUIRES: no prefix caching, on the GPU, all known tokens stored.
  void gather(std::uint32_t slot);
  void scatter(std::uint32_t slot);
  std::int64_t blocks_next_tick() const;
  // What each of the next out.size() ticks takes. REQUIRES: no more than the block size.
  void blocks_ahead(std::span<std::int32_t> out) const;
  void tick(std::int64_t ticks = 1);  // REQUIRES: the blocks are free

  bool has_table(std::uint32_t slot) const { return !tables_[slot].ids.empty(); }
  // vLLM's numbering: host blocks count on from the GPU's.
  std::vector<Id> table(std::uint32_t slot) const;
  std::int64_t free_gpu_blocks() const { return gpu_.free_blocks(); }
  std::int64_t free_cpu_blocks() const { return cpu_.free_blocks(); }
  void count_query(std::int64_t tokens, std::int64_t hit_tokens);
  KvUsage usage() const;
  void check() const;

 private:
  static constexpr std::int64_t kAlone = -1;
  struct Table {
    const Request* request = nullptr;
    std::vector<Id> ids;
    mutable std::vector<std::uint64_t> chain;  // hashes of the first blocks, as far as needed
    std::int32_t tokens = 0;           // covered by the ids
    std::int32_t stored = 0;           // whose KV exists
    std::int32_t cached = -1;          // remembered answer of cached_tokens(); -1 = none
    SimTime last_use = SimTime::never();
    bool on_cpu = false;
    std::int64_t gathered_at = kAlone;  // ticks before its first; kAlone = not gathered
    std::uint32_t row = 0;              // of rows_, while it is
  };
  std::int32_t grown(const Table& table) const {  // with the ticks so far
    return table.gathered_at == kAlone ? 0 : static_cast<std::int32_t>(ticks_ - table.gathered_at);
  }
  std::size_t row_of(std::int64_t tick) const {
    return static_cast<std::size_t>(tick % options_.block_size);
  }
  std::uint64_t hash(const Table& table, std::int32_t index) const;
  void take_in_turn(std::span<const std::uint32_t> slots, std::int64_t steps);
  std::int64_t full_blocks_to_take(const Table& table, const VllmV0Allocator& to) const;
  void move(Table& table, VllmV0Allocator& from, VllmV0Allocator& to, SwapPairs& pairs);
  void release_all(Table& table, VllmV0Allocator& from);

  Options options_;
  VllmV0Allocator gpu_;
  VllmV0Allocator cpu_;
  std::vector<Table> tables_;  // by slot
  std::uint64_t query_tokens_ = 0;
  std::uint64_t hit_tokens_ = 0;
  // The gathered by the tick, modulo the block size, with which they take a block.
  std::vector<std::vector<std::uint32_t>> rows_;
  std::int64_t ticks_ = 0;
  std::int64_t gathered_ = 0;  // tables in rows_
  std::int64_t grown_ = 0;     // tokens that they have stored since each was gathered
  std::vector<std::pair<std::int64_t, std::uint32_t>> turns_;  // buffer of extend(): room, slot
};

}  // namespace headway
