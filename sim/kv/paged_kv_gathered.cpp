// Tables of PagedKv that grow together.
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/kv/paged_kv.h"

namespace headway {

void PagedKv::gather(std::uint32_t slot) {
  Table& table = tables_[slot];
  const std::int32_t room = table.capacity - table.stored;
  SIM_CHECK(table.gathered_at == kAlone && !table.forked_tail);
  SIM_CHECK(table.num_blocks > 0 && room >= 0 && room < options_.block_size);
  table.gathered_at = ticks_;
  table.row = static_cast<std::uint32_t>(row_ahead(room));
  rows_[table.row].push_back(slot);
  ++row_sizes_[table.row];
  ++gathered_;
}

void PagedKv::scatter(std::uint32_t slot) {
  Table& table = tables_[slot];
  SIM_CHECK(table.gathered_at != kAlone);
  table.stored = static_cast<std::int32_t>(stored_in(table));
  table.gathered_at = kAlone;
  if (options_.counts_only) table.num_blocks = blocks_for(table.stored);
  table.capacity = static_cast<std::int32_t>(table.num_blocks) * options_.block_size;
  std::vector<std::uint32_t>& row = rows_[table.row];
  row.erase(std::find(row.begin(), row.end(), slot));
  --row_sizes_[table.row];
  --gathered_;
}

void PagedKv::tick(std::int64_t ticks) {
  tokens_stored_ += ticks * gathered_;
  if (options_.counts_only) {
    std::int64_t taken = 0, left = ticks;
    if (left >= options_.block_size) {
      taken = left / options_.block_size * gathered_;
      left %= options_.block_size;
    }
    if (left > 0) {
      for (; left > 0; --left) {
        taken += row_sizes_[next_row_];
        if (++next_row_ == rows_.size()) next_row_ = 0;
      }
    }
    SIM_CHECK(taken <= pool_.free_blocks());
    pool_.take(taken);
    table_blocks_ += taken;
    ticks_ += ticks;
    return;
  }
  for (; ticks > 0; --ticks) {
    const std::vector<std::uint32_t>& row = rows_[next_row_];
    if (++next_row_ == rows_.size()) next_row_ = 0;
    ++ticks_;
    for (const std::uint32_t slot : row) {
      tables_[slot].blocks.push_back(pool_.take());
      ++tables_[slot].num_blocks;
      ++table_blocks_;
    }
  }
}

void PagedKv::hash_ticked(std::int64_t tick, std::int64_t newest) {
  if (!options_.prefix_caching) return;
  for (const std::uint32_t slot : rows_[row_of(tick + 1)]) {
    Table& table = tables_[slot];
    if (table.gathered_at > newest) continue;
    hash_blocks(table, table.stored + static_cast<std::int32_t>(tick - table.gathered_at));
  }
}

std::int64_t PagedKv::stored_in(const Table& table) const {
  return table.stored + (table.gathered_at == kAlone ? 0 : ticks_ - table.gathered_at);
}

}  // namespace headway
