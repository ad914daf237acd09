#pragma once

// The kernel behind w4a16_gemm.cuh and w8_gemm.cuh: y[m][n] = x[m][k] * W[n][k]^T for few tokens m,
// where W is stored in 4 or 8 bits and x, y are T (bf16 or f16). With few tokens, reading the
// weights is all the work, so everything serves that:
//
// - Weights are the mma's A operand (16 output features a tile) and tokens its B (8 a tile): one to
// eight
//   tokens waste nothing.
// - They are shuffled offline into the order in which lanes hold an A tile, so that a warp fetches
// a
//   "unit" (16 rows x Format::kUnitK columns, 1024 bytes) as two fully used 16-byte loads a lane,
//   and no ldmatrix and no exchange follows. Each lane copies with cp.async into a ring that only
//   it reads, kStages units deep: bytes in flight cost no registers.
// - The order of k inside a unit is free as long as x agrees: tile s of a unit, lane t of a row and
//   element i stand for k = 32 (s / 2) + 8 t + 4 (s % 2) + i, which lets a lane take its part of x
//   by 16-byte loads straight from global memory (L1 and L2 hold x).
// - The eight warps of a block take units in turn (split-k) and add up through shared memory at the
//   end. Integers below 256 are exact in bf16 and f16, so dequantising is subtracting an offset;
//   scales are applied to f32 sums, per group and row, not to weights.

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "kernels/rt/rt.h"

namespace headway::kernels {

// Device pointers, 16-byte aligned. n a multiple of 16, k of Format::kUnitK; m any.
template <class T>
struct WeightOnlyGemmArgs {
  const std::uint32_t* weights;  // shuffled: [n / 16][k / kUnitK][2][32 lanes][4]
  const T* scales;               // grouped: [n / 16][k / kUnitK][16]; else one a row: [n]
  const T* x;                    // [m][k]
  T* y;                          // [m][n]
  int m, n, k;
};

namespace weight_only {
constexpr int kWarps = 8;
constexpr int kStages = 4;
constexpr int kUnitWords = 8 * 32;  // 1024 bytes

// Where element (row, column) of a unit lies: in which lane, A tile, register and half of it.
struct Place {
  int lane, tile, reg, half;
};
inline Place place_of(int row, int column) {
  const int i = column % 4;
  return {row % 8 * 4 + column / 8 % 4, column / 32 * 2 + column / 4 % 2, row / 8 + i / 2 * 2,
          i % 2};
}
}  // namespace weight_only

// kRowTiles: A tiles (16 features) a block; kTokenTiles: B tiles (8 tokens) a block.
template <class T, class Format, int kRowTiles, int kTokenTiles>
struct WeightOnlyGemm {
  static constexpr int kScaleBytes = Format::kGrouped ? 32 : 0;
  static constexpr int kSlotBytes = kRowTiles * (weight_only::kUnitWords * 4 + kScaleBytes);
  static constexpr int kRingBytes = weight_only::kWarps * weight_only::kStages * kSlotBytes;
  static constexpr int kTile = kRowTiles * 16 * kTokenTiles * 8;  // results of a block
  static constexpr int kSumBytes = weight_only::kWarps * kTile * 4;
  static constexpr int kSmemBytes = std::max(kRingBytes, kSumBytes);
};

// Fetches one unit of each row tile (and its scales) into a slot of the warp's ring; zeros past the
// end.
template <class T, class Format, int kRowTiles>
__device__ __forceinline__ void fetch_unit(const WeightOnlyGemmArgs<T>& args, unsigned char* slot,
                                           int unit, int lane) {
  const int units = args.k / Format::kUnitK;
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    const int row_tile = static_cast<int>(blockIdx.x) * kRowTiles + r;
    const bool in = unit < units && row_tile < args.n / 16;
    const std::int64_t index = in ? std::int64_t{row_tile} * units + unit : 0;
    const std::uint32_t* from = args.weights + index * weight_only::kUnitWords + lane * 4;
    cp_async16(slot + r * 1024 + lane * 16, from, in);
    cp_async16(slot + r * 1024 + 512 + lane * 16, from + 128, in);
    if (Format::kGrouped && lane < 2)
      cp_async16(slot + kRowTiles * 1024 + r * 32 + lane * 16, args.scales + index * 16 + lane * 8,
                 in);
  }
  cp_async_commit();
}

// This lane's part of x for eight tokens and half a unit, in the unit's order of k.
template <class T, int kTiles>
__device__ __forceinline__ void load_tokens(TileB<T> (&b)[kTiles],
                                            const WeightOnlyGemmArgs<T>& args, int token, int k0,
                                            int lane) {
#pragma unroll
  for (int j = 0; j < kTiles / 2; ++j) {
    Pack16<std::uint32_t> words{};
    if (token < args.m)
      words = load16(reinterpret_cast<const std::uint32_t*>(args.x + std::int64_t{token} * args.k +
                                                            k0 + 32 * j + lane % 4 * 8));
    b[2 * j] = {{words.v[0], words.v[1]}};
    b[2 * j + 1] = {{words.v[2], words.v[3]}};
  }
}

template <class T, class Format, int kRowTiles, int kTokenTiles>
__global__ void __launch_bounds__(weight_only::kWarps * 32)
    weight_only_gemm_kernel(WeightOnlyGemmArgs<T> args) {
  using weight_only::kStages;
  using weight_only::kWarps;
  using Sizes = WeightOnlyGemm<T, Format, kRowTiles, kTokenTiles>;
  constexpr int kTiles = Format::kUnitK / 32;  // A tiles of half a unit
  DYN_SMEM(unsigned char, smem);
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int token0 = static_cast<int>(blockIdx.y) * kTokenTiles * 8;
  const int units = args.k / Format::kUnitK;
  unsigned char* ring = smem + warp * kStages * Sizes::kSlotBytes;

  TileC sums[kRowTiles][kTokenTiles] = {};
  for (int s = 0; s < kStages - 1; ++s)
    fetch_unit<T, Format, kRowTiles>(args, ring + s * Sizes::kSlotBytes, warp + s * kWarps, lane);
#pragma unroll 1
  for (int unit = warp, slot = 0; unit < units; unit += kWarps, slot = (slot + 1) % kStages) {
    __syncwarp();  // the slot that is filled next was read by every lane, for its scales
    fetch_unit<T, Format, kRowTiles>(args,
                                     ring + (slot + kStages - 1) % kStages * Sizes::kSlotBytes,
                                     unit + (kStages - 1) * kWarps, lane);
    cp_async_wait<kStages - 1>();
    __syncwarp();
    const unsigned char* here = ring + slot * Sizes::kSlotBytes;
    float scale[kRowTiles][2];
    if constexpr (Format::kGrouped) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        const T* scales = reinterpret_cast<const T*>(here + kRowTiles * 1024 + r * 32);
        scale[r][0] = to_f(scales[TileC::row(lane, 0)]);
        scale[r][1] = to_f(scales[TileC::row(lane, 2)]);
      }
    }
#pragma unroll (kTokenTiles < 8 ? 2 : 1)
    for (int half = 0; half < 2; ++half) {  // of a unit's columns: one load of a lane
      TileA<T> a[kRowTiles][kTiles];
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r)
        Format::template unpack<T>(
            load16(reinterpret_cast<const std::uint32_t*>(here + r * 1024 + half * 512) + lane * 4),
            a[r]);
#pragma unroll
      for (int t = 0; t < kTokenTiles; ++t) {
        TileB<T> b[kTiles];
        load_tokens(b, args, token0 + t * 8 + lane / 4, (2 * unit + half) * kTiles * 16, lane);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          if constexpr (Format::kGrouped) {
            TileC part = {};
#pragma unroll
            for (int s = 0; s < kTiles; ++s) mma(part, a[r][s], b[s]);
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[r][t].r[i] += scale[r][i / 2] * part.r[i];
          } else {
#pragma unroll
            for (int s = 0; s < kTiles; ++s) mma(sums[r][t], a[r][s], b[s]);
          }
        }
      }
    }
  }

  // The warps' sums meet in shared memory, over the ring: its last copies must have landed.
  cp_async_wait<0>();
  __syncthreads();
  constexpr int kRows = kRowTiles * 16;
  auto* shared = reinterpret_cast<float*>(smem);
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
    for (int t = 0; t < kTokenTiles; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        shared[warp * Sizes::kTile + (t * 8 + TileC::col(lane, i)) * kRows + r * 16 +
               TileC::row(lane, i)] = sums[r][t].r[i];
  __syncthreads();
  for (int o = thread; o < Sizes::kTile; o += kWarps * 32) {
    const int token = token0 + o / kRows;
    const int feature = static_cast<int>(blockIdx.x) * kRows + o % kRows;
    if (token >= args.m || feature >= args.n) continue;
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w * Sizes::kTile + o];
    if constexpr (!Format::kGrouped) sum *= to_f(args.scales[feature]);
    args.y[std::int64_t{token} * args.n + feature] = from_f<T>(sum);
  }
}

template <class T, class Format, int kRowTiles, int kTokenTiles>
void launch_weight_only_gemm(const WeightOnlyGemmArgs<T>& args, Stream stream) {
  const int rows = kRowTiles * 16, tokens = kTokenTiles * 8;
  const dim3 grid(static_cast<unsigned>((args.n + rows - 1) / rows),
                  static_cast<unsigned>((args.m + tokens - 1) / tokens));
  launch(weight_only_gemm_kernel<T, Format, kRowTiles, kTokenTiles>, grid,
         dim3(weight_only::kWarps * 32),
         static_cast<std::size_t>(WeightOnlyGemm<T, Format, kRowTiles, kTokenTiles>::kSmemBytes),
         stream, args);
}

// Above 64 tokens the weights are read once per 64 (from L2 after the first).
template <class T, class Format>
void weight_only_gemm(const WeightOnlyGemmArgs<T>& args, Stream stream) {
  if (args.n % 16 != 0 || args.k % Format::kUnitK != 0)
    throw std::invalid_argument("weight_only_gemm: n has to be a multiple of 16 and k of the unit");
  if (args.m == 0) return;
  if (args.m <= 8) return launch_weight_only_gemm<T, Format, 1, 1>(args, stream);
  if (args.m <= 16) return launch_weight_only_gemm<T, Format, 1, 2>(args, stream);
  if (args.m <= 32) return launch_weight_only_gemm<T, Format, 2, 4>(args, stream);
  launch_weight_only_gemm<T, Format, 2, 8>(args, stream);
}

}  // namespace headway::kernels
