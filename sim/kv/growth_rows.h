#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/errors.h"

namespace headway {

// Of sequences that grow together, by one token with every tick, how many take a block with which
// tick: one takes its next when what it holds is full, and then once a period, the block's size. So
// the blocks of a tick are a count read off, however many sequences there are.
class GrowthRows {
 public:
  explicit GrowthRows(std::int32_t period) : rows_(static_cast<std::size_t>(period), 0) {}

  std::int64_t ticks() const { return ticks_; }
  std::int64_t size() const { return size_; }  // sequences

  // One joins before the next tick, with room for that many tokens until it takes a block. Returns
  // what names it to leave().
  std::uint32_t join(std::int32_t room) {
    SIM_CHECK(room >= 0 && room < static_cast<std::int32_t>(rows_.size()));
    const std::size_t row = row_of(ticks_ + room + 1);
    ++rows_[row];
    ++size_;
    return static_cast<std::uint32_t>(row);
  }
  void leave(std::uint32_t row) {
    SIM_CHECK(rows_[row] > 0);
    --rows_[row];
    --size_;
  }

  // Blocks that the next tick takes.
  std::int64_t next() const { return rows_[row_of(ticks_ + 1)]; }
  // That each of the next out.size() ticks takes. REQUIRES: no more than the period.
  void ahead(std::span<std::int32_t> out) const {
    std::size_t row = row_of(ticks_ + 1);
    for (std::int32_t& blocks : out) {
      blocks = rows_[row];
      if (++row == rows_.size()) row = 0;
    }
  }
  // So many ticks pass; the blocks that they take.
  std::int64_t tick(std::int64_t ticks = 1) {
    const auto period = static_cast<std::int64_t>(rows_.size());
    std::int64_t taken = ticks >= period ? ticks / period * size_ : 0;
    std::size_t row = row_of(ticks_ + 1);
    for (std::int64_t left = ticks >= period ? ticks % period : ticks; left > 0; --left) {
      taken += rows_[row];
      if (++row == rows_.size()) row = 0;
    }
    ticks_ += ticks;
    return taken;
  }

 private:
  std::size_t row_of(std::int64_t tick) const {
    return static_cast<std::size_t>(tick % static_cast<std::int64_t>(rows_.size()));
  }

  std::vector<std::int32_t> rows_;  // sequences, by tick modulo the period
  std::int64_t ticks_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace headway
