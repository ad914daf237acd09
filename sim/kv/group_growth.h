#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kv/kv_layout.h"

namespace headway {

// What decode steps take and give back of blocks under a layout of groups, sequence by sequence and
// group by group: a block when the last one is full, then one a block's length; and one goes with
// each block's length that a window slides.
class GroupGrowth {
 public:
  // No more than `steps` steps are looked at.
  GroupGrowth(const KvLayout& layout, std::int64_t steps)
      : steps_(std::min(steps, kFarthest)),
        takes_(static_cast<std::size_t>(layout.period()), 0),
        gives_(takes_.size(), 0) {}

  // A sequence that stores `tokens` tokens, in a table of `size` blocks of which the first
  // `skipped` have left the window. A block that is another's too (`shared`) does not come back
  // with the window's next move, so the steps end before it.
  void add(const KvGroup& group, std::int64_t tokens, std::int64_t size, std::int64_t skipped,
           bool shared = false) {
    if (group.kind == KvKind::kState) return;
    const std::int64_t room = size * group.block_size - tokens;
    if (room < 0 || room >= group.block_size) {
      steps_ = 0;
      return;
    }
    mark(takes_, room, group.block_size);
    if (group.kind == KvKind::kWindow) slide(group, tokens, skipped, shared);
  }

  // The same where a window is a ring (KvGroup::ring).
  void add_ring(const KvGroup& group, std::int64_t tokens) {
    const std::int64_t size = group.ring(tokens);
    const bool full = group.kind != KvKind::kFull && size == group.ring(INT64_MAX / 2);
    if (full) return;
    add({.block_size = group.block_size}, tokens, size, 0);
    if (group.kind == KvKind::kWindow) {
      steps_ = std::min(steps_, group.ring(INT64_MAX / 2) * group.block_size - tokens);
    }
  }

  // So many steps find their blocks among `free`, whatever the order of the sequences; `change` is
  // the blocks that each takes, with their period.
  std::int64_t finish(std::int64_t free, std::vector<std::int32_t>& change) {
    change.resize(takes_.size());
    for (std::size_t i = 0; i < change.size(); ++i) change[i] = takes_[i] - gives_[i];
    std::size_t place = 0;
    for (std::int64_t step = 0; step < steps_; ++step) {
      if (takes_[place] > free) return step;
      free -= change[place];
      if (++place == change.size()) place = 0;
    }
    return std::max<std::int64_t>(steps_, 0);
  }

 private:
  static constexpr std::int64_t kFarthest = 4096;

  // Step n + 1 begins with tokens + n tokens and frees what lies before its window. The first block
  // to go has none a block's length before it, so there is no period yet: the steps end before it,
  // unless it goes within one (and so late that not even the newest step seems to have freed one).
  void slide(const KvGroup& group, std::int64_t tokens, std::int64_t skipped, bool shared) {
    const std::int64_t before = (skipped + 1) * group.block_size + group.window - 1 - tokens;
    if (before < 0) {
      steps_ = 0;
    } else if (!shared && before < group.block_size - (skipped == 0 ? 1 : 0)) {
      mark(gives_, before, group.block_size);
    } else {
      steps_ = std::min(steps_, before);
    }
  }

  static void mark(std::vector<std::int32_t>& steps, std::int64_t first, std::int32_t stride) {
    for (auto i = static_cast<std::size_t>(first); i < steps.size();
         i += static_cast<std::size_t>(stride)) {
      ++steps[i];
    }
  }

  std::int64_t steps_;
  std::vector<std::int32_t> takes_, gives_;  // by step, modulo the period
};

}  // namespace headway
