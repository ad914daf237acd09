#pragma once

#include <cstdint>
#include <vector>

#include "sim/scheduling/scheduler.h"

namespace headway::kernels {

// Where each sequence's KV lies: the block tables of the scheduler's own KV (vllm-v1's PagedKv),
// or, for schedulers that only count blocks, pages handed out here. Such a scheduler takes a block
// for every page that a sequence fills, so the pages last exactly as long as its blocks.
class PageTables {
 public:
  // REQUIRES: the scheduler outlives it.
  PageTables(const Scheduler& scheduler, std::int64_t pages, std::int32_t page_size);

  // Whether the scheduler's cached prefixes can be found again (it names its blocks).
  static bool names_blocks(const Scheduler& scheduler) { return scheduler.paged_kv() != nullptr; }

  // Pages for the slot's first `tokens` tokens.
  void copy(std::uint32_t slot, std::int32_t tokens, std::vector<std::int32_t>& out);
  // Tokens that the slot's pages have room for.
  std::int32_t capacity(std::uint32_t slot) const;
  // The slot has lost its KV. No effect where the scheduler names its blocks.
  void release(std::uint32_t slot);

 private:
  const Scheduler& scheduler_;
  std::int32_t page_size_;
  std::vector<std::int32_t> free_;
  std::vector<std::vector<std::int32_t>> tables_;  // by slot
};

}  // namespace headway::kernels
