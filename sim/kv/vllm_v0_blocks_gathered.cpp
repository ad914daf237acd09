// Tables of VllmV0Blocks that grow together.
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/kv/vllm_v0_blocks.h"

namespace headway {

void VllmV0Blocks::gather(std::uint32_t slot) {
  Table& table = tables_[slot];
  const std::int32_t left = room(slot);
  SIM_CHECK(!options_.prefix_caching && !table.on_cpu && table.gathered_at == kAlone);
  SIM_CHECK(!table.ids.empty() && left >= 0 && left < options_.block_size);
  SIM_CHECK(table.stored == table.tokens);
  table.gathered_at = ticks_;
  table.row = static_cast<std::uint32_t>(row_of(ticks_ + left + 1));
  rows_[table.row].push_back(slot);
  ++gathered_;
}

void VllmV0Blocks::scatter(std::uint32_t slot) {
  Table& table = tables_[slot];
  SIM_CHECK(table.gathered_at != kAlone);
  const std::int32_t more = grown(table);
  table.gathered_at = kAlone;
  table.tokens += more;
  grown_ -= more;
  use(slot, table.last_use, table.stored + more);
  std::vector<std::uint32_t>& row = rows_[table.row];
  row.erase(std::find(row.begin(), row.end(), slot));
  --gathered_;
}

std::int64_t VllmV0Blocks::blocks_next_tick() const {
  return std::ssize(rows_[row_of(ticks_ + 1)]);
}

void VllmV0Blocks::blocks_ahead(std::span<std::int32_t> out) const {
  std::size_t row = row_of(ticks_ + 1);
  for (std::int32_t& blocks : out) {
    blocks = static_cast<std::int32_t>(rows_[row].size());
    if (++row == rows_.size()) row = 0;
  }
}

void VllmV0Blocks::tick(std::int64_t ticks) {
  grown_ += ticks * gathered_;
  for (; ticks > 0; --ticks) {
    for (const std::uint32_t slot : rows_[row_of(++ticks_)]) {
      tables_[slot].ids.push_back(gpu_.take());
    }
  }
}

}  // namespace headway
