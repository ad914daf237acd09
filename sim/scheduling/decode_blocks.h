#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sim/scheduling/scheduler.h"

namespace headway {

// Cuts `repeats.steps` to what `free_blocks` can hold; new_blocks[w] sequences have room for w more
// tokens, so they take a block in further step w + 1 and then once a period.
inline void limit_by_blocks(Repeats& repeats, std::int64_t batch, std::int64_t free_blocks) {
  const auto period = static_cast<std::int64_t>(repeats.new_blocks.size());
  const std::int64_t rounds = free_blocks / batch;  // whole periods that fit: a block each
  if (repeats.steps <= rounds * period) return;
  std::int64_t left = free_blocks - rounds * batch;
  std::int64_t steps = rounds * period;
  for (const std::int32_t taken : repeats.new_blocks) {
    if (taken > left) break;
    left -= taken;
    ++steps;
  }
  repeats.steps = std::min(repeats.steps, steps);
}

}  // namespace headway
