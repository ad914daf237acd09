#pragma once

// Split-KV: when sequences times KV heads are fewer than the blocks a GPU can hold, a long sequence
// is cut into chunks that different blocks read; each leaves a partial result (normalised output
// and the base-2 logarithm of its sum) and a second, cheap kernel combines them:
//
//   out = sum_p 2^(lse_p - max) * out_p / sum_p 2^(lse_p - max)
//
// The plan is made on the host from the lengths, which an engine knows there: about two blocks a
// multiprocessor, or, where the batch alone fills the GPU, chunks small enough that one long
// sequence does not outlast the rest.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/ops/attention_tile.cuh"
#include "kernels/rt/rt.h"

namespace headway::kernels {

// Tokens [begin, end) of a sequence. partial: where the result goes; -1: it is the whole result.
struct SplitItem {
  std::int32_t sequence, begin, end, partial;
};

// What the kernels see of a plan. Pointers are owned by the caller. Partial results of a sequence
// lie at first_partial[s] .. first_partial[s + 1] - 1.
struct SplitKv {
  const SplitItem* items = nullptr;
  const std::int32_t* first_partial = nullptr;  // [sequences + 1]
  float* out = nullptr;                         // [partials][rows][dim]; rows = queries * heads
  float* lse = nullptr;                         // [partials][rows], -inf where nothing was visible
  std::int32_t item_count = 0;
  std::int32_t partial_count = 0;
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

// Writes eight columns of one row of an item's result: `values` are sums of weighted V, `sum` the
// weights', `max_log2` the exponent they are relative to. place: the row in [queries][heads].
template <int kDim, class T>
__device__ __forceinline__ void write_attention(T* out, const SplitKv& split, const SplitItem& item,
                                                int rows, int place, int col,
                                                const float (&values)[8], float sum,
                                                float max_log2) {
  const float scale = sum > 0.0f ? 1.0f / sum : 0.0f;
  if (item.partial < 0) {
    Pack16<T> pack;
#pragma unroll
    for (int j = 0; j < 8; ++j) pack.v[j] = from_f<T>(values[j] * scale);
    store16(out + (std::int64_t{item.sequence} * rows + place) * kDim + col, pack);
    return;
  }
  const std::int64_t at = std::int64_t{item.partial} * rows + place;
#pragma unroll
  for (int j = 0; j < 8; j += 4) {
    Pack16<float> pack;
#pragma unroll
    for (int i = 0; i < 4; ++i) pack.v[i] = values[j + i] * scale;
    store16(split.out + at * kDim + col + j, pack);
  }
  if (col == 0) split.lse[at] = sum > 0.0f ? max_log2 + log2f(sum) : minus_infinity();
}

// Grid (rows, sequences), four warps a block: each warp adds up every fourth partial result, its
// lanes hold the columns; the warps' sums meet in shared memory. Reads each partial once.
template <class T, int kDim>
__global__ void __launch_bounds__(128) combine_split_kv(T* out, SplitKv split) {
  constexpr int kWarps = 4;
  constexpr int kPerLane = kDim / 32;
  SHARED(float, sums, kWarps* kDim);
  SHARED(float, weights, kWarps);
  const int row = static_cast<int>(blockIdx.x);
  const int rows = static_cast<int>(gridDim.x);
  const int sequence = static_cast<int>(blockIdx.y);
  const int first = split.first_partial[sequence];
  const int last = split.first_partial[sequence + 1];
  if (first == last) return;  // was one piece: written already
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;

  float max = minus_infinity();
  for (int p = first + lane; p < last; p += 32) {
    max = fmaxf(max, split.lse[std::int64_t{p} * rows + row]);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, step));
  }
  float sum[kPerLane] = {};
  float weight_sum = 0.0f;
#pragma unroll 4
  for (int p = first + warp; p < last; p += kWarps) {
    const std::int64_t at = std::int64_t{p} * rows + row;
    const float weight = max == minus_infinity() ? 0.0f : fast_exp2(split.lse[at] - max);
    const float* from = split.out + at * kDim + lane;
    weight_sum += weight;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) sum[i] += weight * from[i * 32];
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) sums[warp * kDim + i * 32 + lane] = sum[i];
  if (lane == 0) weights[warp] = weight_sum;
  __syncthreads();

  const float weight = weights[0] + weights[1] + weights[2] + weights[3];
  const float scale = weight > 0.0f ? 1.0f / weight : 0.0f;
  T* to = out + (std::int64_t{sequence} * rows + row) * kDim;
  for (int col = static_cast<int>(threadIdx.x); col < kDim; col += kWarps * 32) {
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) total += sums[w * kDim + col];
    to[col] = from_f<T>(total * scale);
  }
}

}  // namespace headway::kernels
