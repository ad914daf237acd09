// Many decode steps of PagedKv at once.
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/kv/paged_kv.h"

namespace headway {

// Sorts slots (by index, into turns_) by the step of a block's length in which they are due: waits[i]
// steps from now. Those that are not due within `steps` are left out. Order of slots within a step.
void PagedKv::in_turn(std::span<const std::int32_t> waits, std::int64_t steps) {
  first_turn_.assign(static_cast<std::size_t>(options_.block_size) + 1, 0);
  for (const std::int32_t wait : waits) {
    if (wait < steps) ++first_turn_[static_cast<std::size_t>(wait) + 1];
  }
  for (std::size_t i = 1; i < first_turn_.size(); ++i) first_turn_[i] += first_turn_[i - 1];
  turns_.resize(static_cast<std::size_t>(first_turn_.back()));
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] >= steps) continue;
    std::int32_t& place = first_turn_[static_cast<std::size_t>(waits[i])];
    turns_[static_cast<std::size_t>(place++)] = static_cast<std::int32_t>(i);
  }
}

void PagedKv::extend(std::span<const std::uint32_t> slots, std::int64_t steps,
                     std::int32_t unknown) {
  const std::int64_t length = options_.block_size;
  waits_.clear();
  for (const std::uint32_t slot : slots) {
    const std::int32_t wait = room(slot);
    SIM_CHECK(wait >= 0 && wait < length);
    waits_.push_back(wait);
  }
  in_turn(waits_, steps);
  for (std::int64_t before = 0; before < steps; before += length) {
    for (const std::int32_t i : turns_) {
      const auto index = static_cast<std::size_t>(i);
      if (before + waits_[index] >= steps) break;  // the turns ascend
      Table& table = tables_[slots[index]];
      table.blocks.push_back(pool_.take());
      table.capacity += options_.block_size;
      ++table_blocks_;
    }
  }
  for (const std::uint32_t slot : slots) tables_[slot].stored += static_cast<std::int32_t>(steps);
  tokens_stored_ += steps * static_cast<std::int64_t>(slots.size());
  if (!options_.prefix_caching) return;
  // Which blocks are taken and which become full does not depend on one another; among the full ones
  // the order matters, since of equal blocks the first hashed is found.
  waits_.clear();
  for (const std::uint32_t slot : slots) {
    const Table& table = tables_[slot];
    const std::int64_t known = table.stored - steps - unknown;
    const std::int64_t full = (table.hashed_blocks + 1) * length - known;
    SIM_CHECK(full >= 1 && full <= length);
    waits_.push_back(static_cast<std::int32_t>(full - 1));
  }
  in_turn(waits_, steps);
  for (std::int64_t before = 0; before < steps; before += length) {
    for (const std::int32_t i : turns_) {
      const auto index = static_cast<std::size_t>(i);
      if (before + waits_[index] >= steps) break;
      Table& table = tables_[slots[index]];
      hash_blocks(table, (table.hashed_blocks + 1) * options_.block_size);
    }
  }
}

}  // namespace headway
