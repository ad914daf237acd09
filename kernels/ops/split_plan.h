#pragma once

// Split-KV: when sequences times KV heads are fewer than the blocks a GPU can hold, a long sequence
// is cut into chunks that different blocks read; each leaves a partial result (normalised output
// and the base-2 logarithm of its sum) and a second, cheap kernel combines them (split_kv.cuh).
//
// The plan is made on the host from the lengths, which an engine knows there: as many blocks as the
// GPU holds at once, or, where the batch alone fills it, chunks small enough that one long sequence
// does not outlast the rest.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ops/paged_kv.h"

namespace headway::kernels {

// Tokens [begin, end) of a sequence. partial: where the result goes; -1: it is the whole result.
struct SplitItem {
  std::int32_t sequence, begin, end, partial;
};

struct SplitPlan {
  std::vector<SplitItem> items;             // longest first
  std::vector<std::int32_t> first_partial;  // [sequences + 1]
  std::int32_t partial_count() const { return first_partial.back(); }
};

// lengths: tokens of each sequence, the `queries` newest of which ask (0: an empty place in the
// batch). units: blocks that each item takes (KV heads x row tiles). slots: blocks the GPU holds at
// once. Chunks are multiples of `tile` tokens and at least two tiles.
inline SplitPlan plan_split_kv(const std::vector<std::int32_t>& lengths, int queries, int window,
                               int units, int slots, int tile) {
  std::vector<std::int32_t> begins(lengths.size(), 0);
  std::int64_t total = 0, longest = 1;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    begins[s] = std::min(visible_to(std::max(lengths[s] - queries, 0), window).low, lengths[s]);
    total += lengths[s] - begins[s];
    longest = std::max<std::int64_t>(longest, lengths[s] - begins[s]);
  }
  const auto batch = static_cast<std::int64_t>(lengths.size());
  const auto tiles_of = [&](std::int64_t tokens) { return (tokens + tile - 1) / tile; };
  const auto pieces_of = [&](std::size_t s, std::int64_t chunk) {
    const std::int64_t tokens = lengths[s] - begins[s];
    return std::max<std::int64_t>(1, (tokens + chunk - 1) / chunk);
  };
  std::int64_t chunk_tiles = tiles_of(longest);
  const bool fills_evenly = units * batch >= slots && longest * batch * 4 <= total * 5;
  if (!fills_evenly) {
    const std::int64_t limit = units * batch >= slots ? 2 * batch : slots / units;
    std::int64_t low = std::min<std::int64_t>(2, chunk_tiles);  // the smallest that keeps the limit
    for (std::int64_t high = chunk_tiles; low < high;) {
      const std::int64_t middle = (low + high) / 2;
      std::int64_t items = 0;
      for (std::size_t s = 0; s < lengths.size(); ++s) items += pieces_of(s, middle * tile);
      if (items <= limit)
        high = middle;
      else
        low = middle + 1;
    }
    chunk_tiles = low;
  }
  SplitPlan plan;
  plan.first_partial.push_back(0);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const std::int64_t pieces = pieces_of(s, chunk_tiles * tile);
    const std::int64_t chunk = tiles_of((lengths[s] - begins[s] + pieces - 1) / pieces) * tile;
    std::int32_t partial = plan.first_partial.back();
    std::int32_t begin = begins[s];
    do {
      const auto end = static_cast<std::int32_t>(std::min<std::int64_t>(begin + chunk, lengths[s]));
      plan.items.push_back(
          {static_cast<std::int32_t>(s), begin, end, pieces == 1 ? -1 : partial++});
      begin = end;
    } while (begin < lengths[s]);
    plan.first_partial.push_back(partial);
  }
  std::stable_sort(
      plan.items.begin(), plan.items.end(),
      [](const SplitItem& a, const SplitItem& b) { return a.end - a.begin > b.end - b.begin; });
  return plan;
}

}  // namespace headway::kernels
