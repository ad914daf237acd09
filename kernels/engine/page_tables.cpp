#include "kernels/engine/page_tables.h"

#include "sim/core/errors.h"
#include "sim/kv/paged_kv.h"

namespace headway::kernels {

PageTables::PageTables(const Scheduler& scheduler, std::int64_t pages, std::int32_t page_size)
    : scheduler_(scheduler), page_size_(page_size) {
  if (names_blocks(scheduler)) return;
  for (std::int64_t page = pages; page-- > 0;) free_.push_back(static_cast<std::int32_t>(page));
}

void PageTables::copy(std::uint32_t slot, std::int32_t tokens, std::vector<std::int32_t>& out) {
  const auto pages = static_cast<std::size_t>((tokens + page_size_ - 1) / page_size_);
  if (const PagedKv* kv = scheduler_.paged_kv()) {
    const std::vector<BlockId>& blocks = kv->table(slot);
    SIM_CHECK(pages <= blocks.size(), "the scheduler gave fewer blocks than its plan needs");
    out.assign(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(pages));
    return;
  }
  if (slot >= tables_.size()) tables_.resize(slot + 1);
  std::vector<std::int32_t>& table = tables_[slot];
  while (table.size() < pages) {
    SIM_CHECK(!free_.empty(), "INV-4: no plan needs more blocks than there are");
    table.push_back(free_.back());
    free_.pop_back();
  }
  out.assign(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(pages));
}

std::int32_t PageTables::capacity(std::uint32_t slot) const {
  if (const PagedKv* kv = scheduler_.paged_kv()) {
    return static_cast<std::int32_t>(kv->table(slot).size()) * page_size_;
  }
  if (slot >= tables_.size()) return 0;
  return static_cast<std::int32_t>(tables_[slot].size()) * page_size_;
}

void PageTables::release(std::uint32_t slot) {
  if (slot >= tables_.size()) return;
  free_.insert(free_.end(), tables_[slot].rbegin(), tables_[slot].rend());
  tables_[slot].clear();
}

}  // namespace headway::kernels
