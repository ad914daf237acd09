#pragma once

// The device's side of split-KV (split_plan.h says what that is): where an item's result goes, and
// the kernel that combines the partial results of a sequence,
//
//   out = sum_p 2^(lse_p - max) * out_p / sum_p 2^(lse_p - max)

#include <cstdint>

#include "kernels/ops/attention_tile.cuh"
#include "kernels/ops/split_plan.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

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
