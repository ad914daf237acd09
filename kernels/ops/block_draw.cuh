#pragma once

// Drawing an index in proportion to weights, by one block, exactly: weights are whole numbers
// (fixed point), so that sums do not depend on the order of addition and every run, thread order
// and GPU draws the same token from the same uniform number. Shared by sampling.cuh and
// rejection_verify.cuh.
//
// A draw is the inverse of the cumulative distribution in index order: the first index whose weight
// and those before it exceed u * total. Reads every weight once, a 32nd of them again and a 1024th
// again.

#include <cstdint>

#include "kernels/rt/rt.h"

namespace headway::kernels {

namespace draw {

using Mass = unsigned long long;  // what atomicAdd takes
constexpr int kThreads = 1024;
constexpr int kWarps = 32;
constexpr unsigned kAll = 0xffffffffu;

// A weight in [0, 1] in units of 2^-40: 2^18 of them stay below 2^58.
__device__ __forceinline__ Mass mass_of(float weight) {
  return static_cast<Mass>(weight * 1099511627776.0f);
}

// floor(mass * bits / 2^32), for mass < 2^58.
HEADWAY_HD Mass fraction_of(Mass mass, std::uint32_t bits) {
  return (mass >> 32) * bits + (((mass & 0xffffffffu) * bits) >> 32);
}

template <class V>
__device__ __forceinline__ V warp_sum(V v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(kAll, v, offset);
  return v;
}

// The sum over the block, for every thread. `scratch`: kWarps elements of shared memory that nobody
// uses meanwhile. Begins and ends with a barrier.
__device__ __forceinline__ Mass block_sum(Mass v, Mass* scratch) {
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  v = scratch[threadIdx.x % 32];
  return warp_sum(v);
}

__device__ __forceinline__ Mass block_max(Mass v, Mass* scratch) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const Mass other = __shfl_xor_sync(kAll, v, offset);
    v = other > v ? other : v;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  v = scratch[threadIdx.x % 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const Mass other = __shfl_xor_sync(kAll, v, offset);
    v = other > v ? other : v;
  }
  return v;
}

// Of 32 sums, in order: the one in which `target` falls, and what is left of it there. Every lane
// holds one sum, every lane gets the answer; the last is never passed.
struct Found {
  int index;
  Mass left;
};
__device__ __forceinline__ Found find_among(Mass sum, Mass target) {
  const int lane = threadIdx.x % 32;
  Mass up_to = sum;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const Mass before = __shfl_up_sync(kAll, up_to, offset);
    if (lane >= offset) up_to += before;
  }
  const unsigned beyond = __ballot_sync(kAll, up_to > target);
  const int index = beyond == 0 ? 31 : __ffs(static_cast<int>(beyond)) - 1;
  return {index, target - __shfl_sync(kAll, up_to - sum, index)};
}

// weight(i) -> Mass for i in [0, count). Returns the index, or -1 when all weights are 0; the
// answer is in every thread. Called by all kThreads threads of the block.
template <class Weight>
__device__ int block_draw(const Weight& weight, int count, std::uint32_t uniform_bits,
                          Mass* scratch) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = (count + 32767) / 32768;  // of a lane in the last step
  const int sub = part * 32, segment = sub * 32;
  const auto sum_of = [&](int first, int size) {
    Mass sum = 0;
    for (int i = first + lane; i < first + size && i < count; i += 32) sum += weight(i);
    return warp_sum(sum);
  };
  const auto gather = [&](Mass mine) {  // each warp's sum, one a lane
    __syncthreads();
    if (lane == 0) scratch[warp] = mine;
    __syncthreads();
    return scratch[lane];
  };
  Mass sum = gather(sum_of(warp * segment, segment));
  const Mass total = warp_sum(sum);
  if (total == 0) return -1;
  const Found in_block = find_among(sum, fraction_of(total, uniform_bits));
  int first = in_block.index * segment;
  sum = gather(sum_of(first + warp * sub, sub));
  const Found in_segment = find_among(sum, in_block.left);
  first += in_segment.index * sub + lane * part;
  sum = 0;
  for (int i = first; i < first + part && i < count; ++i) sum += weight(i);
  const Found in_warp = find_among(sum, in_segment.left);
  int answer = -1;  // of the lane in whose part it falls
  Mass left = in_warp.left;
  for (int i = first; i < first + part && i < count; ++i) {
    const Mass w = weight(i);
    if (answer < 0 && left < w) answer = i;
    left -= w;  // wraps below zero once the answer is known, and in the lanes that are not asked
  }
  return __shfl_sync(kAll, answer, in_warp.index);
}

}  // namespace draw
}  // namespace headway::kernels
