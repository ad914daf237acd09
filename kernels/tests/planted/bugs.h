#pragma once

// Kernels with one mistake each that people really make, and the same kernels without it
// (kFixed = true). The tests show which way of running the emulator catches which, and that none of
// them objects to the fixed ones.

#include <vector>

#include "kernels/rt/rt.h"

namespace headway::kernels::planted {

inline constexpr int kThreads = 128;
inline constexpr int kWarps = kThreads / 32;

// --- A barrier is missing between one phase and the next ----------------------------------------

// Every thread gets the sum over the block. Mistake: the warps' partial sums are read before all
// are written.
template <bool kFixed>
__global__ void block_sum_kernel(const float* x, float* out) {
  SHARED(float, parts, kWarps);
  const int t = static_cast<int>(threadIdx.x);
  float value = x[t];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (t % 32 == 0) parts[t / 32] = value;
  if constexpr (kFixed) __syncthreads();
  float sum = 0;
  for (int i = 0; i < kWarps; ++i) sum += parts[i];
  out[t] = sum;
}

// Each warp holds a partial result of 32 columns; the block adds them up. Mistake: combined
// before all warps have stored theirs.
template <bool kFixed>
__global__ void combine_kernel(const float* x, float* out) {
  DYN_SMEM(float, partial);  // [kWarps][32]
  const int t = static_cast<int>(threadIdx.x);
  partial[t] = x[t] * 2.0f;
  if constexpr (kFixed) __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[32 * warp + t % 32];
  out[t] = sum;
}

// Mistake: a lane reads what its neighbour stored with no __syncwarp between.
template <bool kFixed>
__global__ void neighbour_kernel(const float* x, float* out) {
  SHARED(float, kept, kThreads);
  const int t = static_cast<int>(threadIdx.x);
  kept[t] = x[t];
  if constexpr (kFixed) __syncwarp();
  out[t] = kept[t ^ 1];
}

// --- Asynchronous copies ------------------------------------------------------------------------

// Mistake: the copy is committed but not waited for.
template <bool kFixed>
__global__ void no_wait_kernel(const float* x, float* out) {
  DYN_SMEM(float, tile);
  const int t = static_cast<int>(threadIdx.x);
  if (t < kThreads / 4) cp_async16(tile + 4 * t, x + 4 * t);
  cp_async_commit();
  if constexpr (kFixed) cp_async_wait<0>();
  __syncthreads();
  out[t] = tile[kThreads - 1 - t];
}

inline constexpr int kTile = 256;  // elements: 16 x 16
inline constexpr int kTiles = 5;

// The row sums of a product with ones, tile by tile through two buffers; every warp reads the whole
// tile. Mistake: the next copy into a buffer is issued while slower warps may still read it.
template <bool kFixed>
__global__ void double_buffer_kernel(const bf16* x, float* out) {
  DYN_SMEM(bf16, buffers);  // [2][kTile]
  const int t = static_cast<int>(threadIdx.x);
  const int lane = t % 32;
  const auto issue = [&](int tile) {
    if (t < kTile / 8) cp_async16(buffers + tile % 2 * kTile + 8 * t, x + tile * kTile + 8 * t);
    cp_async_commit();
  };
  const std::uint32_t ones = pack2<bf16>(1.0f, 1.0f);
  TileC sum{{0, 0, 0, 0}};
  issue(0);
  for (int tile = 0; tile < kTiles; ++tile) {
    if (tile + 1 < kTiles) {
      issue(tile + 1);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();
    const SmemView<bf16> view{buffers + tile % 2 * kTile, 16};
    mma(sum, load_a(view, lane), TileB<bf16>{{ones, ones}});
    if constexpr (kFixed) __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    if (TileC::col(lane, i) == 0) out[t / 32 * 16 + TileC::row(lane, i)] = sum.r[i];
  }
}

// --- Out of bounds ------------------------------------------------------------------------------

// One row of 8 values a thread. Mistake: threads past the last row read it all the same.
template <bool kFixed>
__global__ void unclamped_row_kernel(const bf16* x, float* out, int rows) {
  const int row = static_cast<int>(threadIdx.x);
  const Pack16<bf16> values = load16(x + 8 * (kFixed && row >= rows ? rows - 1 : row));
  if (row < rows) out[row] = to_f(values.v[0]);
}

// Mistake: the block asks for 4 floats less than it uses.
template <bool kFixed>
__global__ void shared_overrun_kernel(const float* x, float* out) {
  DYN_SMEM(float, kept);
  const int t = static_cast<int>(threadIdx.x);
  kept[t] = x[t];
  __syncthreads();
  out[t] = kept[kThreads - 1 - t];
}

// --- Lanes that do not come, blocks that collide ------------------------------------------------

// Mistake: half a warp shuffles under a full mask.
template <bool kFixed>
__global__ void half_warp_kernel(const float* x, float* out) {
  const int t = static_cast<int>(threadIdx.x);
  float value = x[t];
  if (t % 32 < 16) value += __shfl_xor_sync(kFixed ? 0xffffu : 0xffffffffu, value, 8);
  out[t] = value;
}

// Mistake: every block writes the same place, the same value even.
template <bool kFixed>
__global__ void colliding_blocks_kernel(const float* x, float* out) {
  const int t = static_cast<int>(threadIdx.x);
  out[(kFixed ? static_cast<int>(blockIdx.x) * kThreads : 0) + t] = x[t];
}

// --- Running them -------------------------------------------------------------------------------

// Small whole numbers, so that every sum is exact in any order.
inline std::vector<float> numbers(int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7 % 13);
  return values;
}

template <class Kernel>
std::vector<float> run_plain(Kernel kernel, int smem_floats, unsigned blocks = 1) {
  const DeviceBuffer<float> x(numbers(kThreads));
  DeviceBuffer<float> out(std::size_t(kThreads) * blocks);
  launch(kernel, blocks, kThreads, smem_floats * sizeof(float), Stream{}, x.data(), out.data());
  return out.download();
}

template <bool kFixed>
std::vector<float> run_double_buffer() {
  std::vector<bf16> tiles(std::size_t(kTile) * kTiles);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    tiles[i] = from_f<bf16>(static_cast<float>(i * 7 % 13));
  }
  const DeviceBuffer<bf16> x(tiles);
  DeviceBuffer<float> out(16 * kWarps);
  launch(&double_buffer_kernel<kFixed>, 1, kThreads, 2 * kTile * sizeof(bf16), Stream{}, x.data(),
         out.data());
  return out.download();
}

template <bool kFixed>
std::vector<float> run_unclamped_row() {
  constexpr int kRows = kThreads - 3;
  const DeviceBuffer<bf16> x(std::vector<bf16>(8 * kRows, from_f<bf16>(1.0f)));
  DeviceBuffer<float> out(kRows);
  launch(&unclamped_row_kernel<kFixed>, 1, kThreads, 0, Stream{}, x.data(), out.data(), kRows);
  return out.download();
}

struct Bug {
  const char* name;
  std::vector<float> (*broken)();
  std::vector<float> (*fixed)();
};

inline const std::vector<Bug>& bugs() {
  static const std::vector<Bug> table{
      {"block_sum", [] { return run_plain(&block_sum_kernel<false>, 0); },
       [] { return run_plain(&block_sum_kernel<true>, 0); }},
      {"combine", [] { return run_plain(&combine_kernel<false>, kThreads); },
       [] { return run_plain(&combine_kernel<true>, kThreads); }},
      {"neighbour", [] { return run_plain(&neighbour_kernel<false>, 0); },
       [] { return run_plain(&neighbour_kernel<true>, 0); }},
      {"no_wait", [] { return run_plain(&no_wait_kernel<false>, kThreads); },
       [] { return run_plain(&no_wait_kernel<true>, kThreads); }},
      {"double_buffer", &run_double_buffer<false>, &run_double_buffer<true>},
      {"unclamped_row", &run_unclamped_row<false>, &run_unclamped_row<true>},
      {"shared_overrun", [] { return run_plain(&shared_overrun_kernel<false>, kThreads - 4); },
       [] { return run_plain(&shared_overrun_kernel<true>, kThreads); }},
      {"half_warp", [] { return run_plain(&half_warp_kernel<false>, 0); },
       [] { return run_plain(&half_warp_kernel<true>, 0); }},
      {"colliding_blocks", [] { return run_plain(&colliding_blocks_kernel<false>, 0, 3); },
       [] { return run_plain(&colliding_blocks_kernel<true>, 0, 3); }},
  };
  return table;
}

}  // namespace headway::kernels::planted
