#pragma once

// What the attention kernels share inside a block: where a tile of tokens lies in the pages, how it
// comes into shared memory, and one step of the online softmax on a warp's accumulators.

#include <cstdint>
#include <cstring>

#include "kernels/ops/paged_kv.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

inline constexpr float kLog2E = 1.4426950408889634f;

__device__ __forceinline__ int smaller_of(int a, int b) { return a < b ? a : b; }

// A float that no score reaches; compares equal to itself and is never read from memory.
__device__ __forceinline__ float minus_infinity() { return __uint_as_float(0xff800000u); }

// The cache rows of a run of tokens [begin, end) of one sequence, kTile tokens a tile, kept in
// shared memory for the kStages tiles that are in use or under way. The page table is read one tile
// further ahead, into a register while a tile is computed, so no copy waits for it. Row -1: no such
// token.
template <class T, int kTile, int kStages>
class TokenRows {
 public:
  __device__ __forceinline__ TokenRows(std::int32_t* ring, const PagedKv<T>& kv, int sequence,
                                       int begin, int end)
      : ring_(ring), kv_(kv), sequence_(sequence), begin_(begin), end_(end) {}

  // The rows of the first kStages tiles. A barrier must follow.
  __device__ __forceinline__ void fill() {
    for (int i = threadIdx.x; i < kStages * kTile; i += blockDim.x) ring_[i] = find(i);
  }
  // Reads the page table for `tile`; publish() puts the answer where the next barrier shows it. Its
  // ring entry, tile - kStages, must be one that nobody reads any more.
  __device__ __forceinline__ void prefetch(int tile) {
    if (threadIdx.x < kTile) ahead_ = find(tile * kTile + static_cast<int>(threadIdx.x));
  }
  __device__ __forceinline__ void publish(int tile) {
    if (threadIdx.x < kTile) ring_[tile % kStages * kTile + threadIdx.x] = ahead_;
  }
  __device__ __forceinline__ const std::int32_t* of(int tile) const {
    return ring_ + tile % kStages * kTile;
  }

 private:
  __device__ __forceinline__ std::int32_t find(int offset) const {
    const int token = begin_ + offset;
    if (token >= end_) return -1;
    return kv_.row(sequence_, token);
  }
  std::int32_t* ring_;
  const PagedKv<T>& kv_;
  int sequence_, begin_, end_;
  std::int32_t ahead_ = -1;
};

// Queues copies of kTile cache rows of kCols elements, from each of kCount arrays, into shared
// tiles; zeros for row -1. `from` is at the head's first element. The whole block of kThreads
// calls.
template <int kThreads, int kTile, int kCols, int kCount, class T, class View>
__device__ __forceinline__ void copy_rows(const View (&to)[kCount], const T* const (&from)[kCount],
                                          std::int64_t row_stride, const std::int32_t* rows) {
  constexpr int kChunks = kCols / 8;
  static_assert(kTile * kChunks % kThreads == 0);
  constexpr int kRowsAtOnce = kThreads / kChunks;
  // A thread that stays in its column, eight rows (one turn of the swizzle) or more at a step,
  // needs one address and a constant step.
  constexpr bool kFixedColumn = kThreads % kChunks == 0 && kRowsAtOnce % 8 == 0;
  const int thread = static_cast<int>(threadIdx.x);
  const int first_row = thread / kChunks;
  const int first_col = thread % kChunks * 8;
#pragma unroll kFixedColumn ? 8 : 3
  for (int n = 0; n < kTile * kChunks / kThreads; ++n) {
    const int i = n * kThreads + thread;
    const int row = kFixedColumn ? first_row + n * kRowsAtOnce : i / kChunks;
    const int col = kFixedColumn ? first_col : i % kChunks * 8;
    const std::int32_t source = rows[row];
    const std::int64_t offset = (source < 0 ? 0 : source) * row_stride + col;
#pragma unroll
    for (int a = 0; a < kCount; ++a) {
      T* target = kFixedColumn ? to[a].at(first_row, first_col) + n * kRowsAtOnce * to[a].stride
                               : to[a].at(row, col);
      cp_async16(target, from[a] + offset, source >= 0);
    }
  }
}

// Two neighbouring elements at once. `to` is 4-byte aligned.
template <class T>
__device__ __forceinline__ void store_pair(T* to, float first, float second) {
  const std::uint32_t pair = pack2<T>(first, second);
#ifdef __CUDA_ARCH__
  *reinterpret_cast<std::uint32_t*>(to) = pair;
#else
  std::memcpy(to, &pair, 4);
#endif
}

// The two rows that a lane holds of a 16-row accumulator: their running maximum (of the raw scores)
// and this lane's part of the running sum.
struct SoftmaxState {
  float max[2];
  float sum[2];

  __device__ __forceinline__ void clear() {
    max[0] = max[1] = minus_infinity();
    sum[0] = sum[1] = 0.0f;
  }
};

// Maximum and sum over the four lanes that share an accumulator's row.
__device__ __forceinline__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
__device__ __forceinline__ float quad_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

// The largest score of half h (rows 0..7 or 8..15) over the accumulators, not yet over the quad.
template <int kTiles>
__device__ __forceinline__ float lane_max(const TileC (&scores)[kTiles], int h, float start) {
  float best = start;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    best = fmaxf(best, fmaxf(scores[t].r[2 * h], scores[t].r[2 * h + 1]));
  }
  return best;
}

// A maximum to subtract: a row that has seen nothing yet (-inf) subtracts zero, and stays all
// zeros.
__device__ __forceinline__ float finite_max(float max) {
  return max == minus_infinity() ? 0.0f : max;
}

// Turns the scores of half h into exp2((score - max) * scale_log2) and returns their sum in this
// lane.
template <int kTiles>
__device__ __forceinline__ float exponentials(TileC (&scores)[kTiles], int h, float max,
                                              float scale_log2) {
  const float offset = finite_max(max) * scale_log2;
  float sum = 0.0f;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 2 * h; i < 2 * h + 2; ++i) {
      scores[t].r[i] = fast_exp2(fmaf(scores[t].r[i], scale_log2, -offset));
      sum += scores[t].r[i];
    }
  }
  return sum;
}

// How much of what was summed under the old maximum remains under the new one (0 of nothing).
__device__ __forceinline__ float shrink_factor(float old_max, float new_max, float scale_log2) {
  return fast_exp2((old_max - finite_max(new_max)) * scale_log2);
}

template <int kTiles>
__device__ __forceinline__ void scale_rows(TileC (&tiles)[kTiles], int h, float factor) {
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    tiles[t].r[2 * h] *= factor;
    tiles[t].r[2 * h + 1] *= factor;
  }
}

// One tile of keys: scores become weights (not normalised), state and output follow the new
// maximum.
template <int kTiles, int kOutTiles>
__device__ __forceinline__ void softmax_step(TileC (&scores)[kTiles], SoftmaxState& state,
                                             TileC (&out)[kOutTiles], float scale_log2) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float max = quad_max(lane_max(scores, h, state.max[h]));
    const float shrink = shrink_factor(state.max[h], max, scale_log2);
    state.max[h] = max;
    state.sum[h] = state.sum[h] * shrink + exponentials(scores, h, max, scale_log2);
    scale_rows(out, h, shrink);
  }
}

// -inf where a row may not see a token. first_token: of scores[0].
template <int kTiles>
__device__ __forceinline__ void mask_scores(TileC (&scores)[kTiles], const Visible (&visible)[2],
                                            int first_token, int lane) {
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int token = first_token + 8 * t + TileC::col(lane, i);
      const Visible& row = visible[i / 2];
      if (token < row.low || token >= row.high) scores[t].r[i] = minus_infinity();
    }
  }
}

// Attention of one query row by one warp, the plain way: lanes split the columns, one token after
// another. out and q: the row's first element.
template <int kDim, class T>
__device__ __forceinline__ void attend_plainly(T* out, const T* q, const PagedKv<T>& kv,
                                               int sequence, int kv_head, const Visible& visible,
                                               float scale_log2) {
  constexpr int kPerLane = kDim / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float query[kPerLane], sums[kPerLane] = {};
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) query[i] = to_f(q[i * 32 + lane]);
  float max = minus_infinity();
  float sum = 0.0f;
  for (int token = visible.low; token < visible.high; ++token) {
    const std::int64_t row = std::int64_t{kv.row(sequence, token)} * kv.kv_heads + kv_head;
    const std::int64_t at = row * kDim + lane;
    float score = 0.0f;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) score += query[i] * to_f(kv.k[at + i * 32]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
    const float new_max = fmaxf(max, score);
    const float shrink = shrink_factor(max, new_max, scale_log2);
    const float weight = fast_exp2((score - new_max) * scale_log2);
    max = new_max;
    sum = sum * shrink + weight;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i)
      sums[i] = sums[i] * shrink + weight * to_f(kv.v[at + i * 32]);
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    out[i * 32 + lane] = from_f<T>(sum > 0.0f ? sums[i] / sum : 0.0f);
  }
}

template <int kTiles>
__device__ __forceinline__ void clear(TileC (&tiles)[kTiles]) {
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) tiles[t].r[i] = 0.0f;
  }
}

}  // namespace headway::kernels
