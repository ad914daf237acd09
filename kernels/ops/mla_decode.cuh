#pragma once

// Decode attention over a latent cache (multi-head latent attention of DeepSeek-V2/V3, absorbed
// form): a token's cache row is 512 latent elements and 64 of rotary key, shared by all heads. The
// queries arrive multiplied into the latent space already, the outputs leave in it.
//
//   out[s, i, h] = sum_j softmax_j(scale * q[s, i, h] . row[s, j]) * row[s, j][0 .. 511]
//
// for j up to the query's own position; queries as in paged_decode_attention.cuh.
//
// Version 1, plain: one warp a query head; every head reads its own copy of the cache.
// Version 2, tiles: heads (and drafted tokens) are the rows of a block: 16, 32 or 64 of them. 512
// output
//                   columns do not fit one warp's registers, so the warps split the columns for the
//                   second product and rows and tokens for the first; the weights pass between them
//                   through shared memory, three barriers a tile. The cache row is key and value at
//                   once: it is read once, 32 or 64 tokens a stage, two stages of cp.async.
// Version 3, split: version 2 on pieces of sequences (split_kv.cuh). Registered.
//
// Bytes: 1152 a token (bf16), once for each 64 heads (the second reader finds it in L2). FLOPs:
// 2 * (576 + 512) a token and head. 16 heads (TP 8 of 128): 30 FLOP a byte, memory-bound; 128
// heads: 242, compute-bound, where a kernel of mma.sync reaches about half of what wgmma does.

#include <cmath>
#include <cstdint>

#include "kernels/ops/attention_tile.cuh"
#include "kernels/ops/device_limits.h"
#include "kernels/ops/paged_kv.h"
#include "kernels/ops/split_kv.cuh"
#include "kernels/rt/rt.h"

namespace headway::kernels {

inline constexpr int kMlaLatent = 512;
inline constexpr int kMlaRope = 64;
inline constexpr int kMlaRow = kMlaLatent + kMlaRope;

template <class T>
struct MlaDecodeArgs {
  T* out = nullptr;      // [sequences][queries][heads][512]
  const T* q = nullptr;  // [sequences][queries][heads][576]: latent part, rotary part
  PagedKv<T> kv;         // k: rows of 576, 16-byte aligned; kv_heads 1
  std::int32_t sequences = 0;
  std::int32_t queries = 1;  // the newest tokens of each sequence
  std::int32_t heads = 0;
  float scale = 0;  // 1 / sqrt(192) for DeepSeek-V3: of the head before it was absorbed
  SplitKv split;    // version 3; made with mla_units() and kMlaPlanTile
};

// --- Version 1 ---------------------------------------------------------------------------------

// Grid (queries * heads, sequences), one warp.
template <class T>
__global__ void __launch_bounds__(32) mla_decode_plain(MlaDecodeArgs<T> a) {
  constexpr int kPerLane = kMlaRow / 32;
  constexpr int kOutPerLane = kMlaLatent / 32;
  const int lane = static_cast<int>(threadIdx.x);
  const int sequence = static_cast<int>(blockIdx.y);
  const std::int64_t row = std::int64_t{sequence} * gridDim.x + blockIdx.x;
  const int query = static_cast<int>(blockIdx.x) / a.heads;
  const float scale_log2 = a.scale * kLog2E;
  float q[kPerLane], out[kOutPerLane] = {};
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) q[i] = to_f(a.q[row * kMlaRow + i * 32 + lane]);
  float max = minus_infinity();
  float sum = 0.0f;
  const Visible visible = visible_to(a.kv.lengths[sequence] - a.queries + query, 0);
  for (int token = visible.low; token < visible.high; ++token) {
    const T* cached = a.kv.k + std::int64_t{a.kv.row(sequence, token)} * kMlaRow + lane;
    float score = 0.0f;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) score += q[i] * to_f(cached[i * 32]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
    const float new_max = fmaxf(max, score);
    const float shrink = shrink_factor(max, new_max, scale_log2);
    const float weight = fast_exp2((score - new_max) * scale_log2);
    max = new_max;
    sum = sum * shrink + weight;
#pragma unroll
    for (int i = 0; i < kOutPerLane; ++i) out[i] = out[i] * shrink + weight * to_f(cached[i * 32]);
  }
#pragma unroll
  for (int i = 0; i < kOutPerLane; ++i) {
    a.out[row * kMlaLatent + i * 32 + lane] = from_f<T>(sum > 0.0f ? out[i] / sum : 0.0f);
  }
}

// --- Versions 2 and 3 --------------------------------------------------------------------------

template <class T, int kTilesOfRows, int kTokens, int kWarpCount>
struct MlaDecode {
  static constexpr int kRowTiles = kTilesOfRows;
  static constexpr int kTile = kTokens;  // tokens a stage
  static constexpr int kWarps = kWarpCount;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kStages = 2;
  static constexpr int kRows = 16 * kRowTiles;
  // First product: a warp has 16 rows and kWarpTokens tokens. Second: all rows and kWarpCols
  // columns.
  static constexpr int kTokenParts = kWarps / kRowTiles;
  static constexpr int kWarpTokens = kTile / kTokenParts;
  static constexpr int kWarpCols = kMlaLatent / kWarps;
  static constexpr int kOutStride = kMlaLatent + 8;  // f32 rows on their way out

  using View = SmemView<T, Swizzle128>;

  // Shared memory: stages, queries, weights [kRows][64], then the small arrays.
  static constexpr int kStageElements = kTile * kMlaRow;
  static constexpr int kQueryOffset = kStages * kStageElements;
  static constexpr int kWeightOffset = kQueryOffset + kRows * kMlaRow;
  static constexpr int kSmallOffset = kWeightOffset + kRows * 64;
  static constexpr int kSmallFloats = kStages * kTile + (2 * kTokenParts + 1) * kRows;
  static constexpr int kSmemBytes = kSmallOffset * static_cast<int>(sizeof(T)) + kSmallFloats * 4;
  static_assert(kRows * kOutStride * 4 <= kWeightOffset * static_cast<int>(sizeof(T)));

  static __device__ __forceinline__ View stage(T* smem, int tile) {
    return {smem + tile % kStages * kStageElements, kMlaRow};
  }
  static __device__ __forceinline__ View queries(T* smem) { return {smem + kQueryOffset, kMlaRow}; }
  static __device__ __forceinline__ View weights(T* smem) { return {smem + kWeightOffset, 64}; }
};

// Per-row numbers that the warps exchange.
template <class S>
struct MlaExchange {
  std::int32_t* ring;  // [kStages][kTile]
  float* maxima;       // [kTokenParts][kRows], of a tile
  float* sums;         // [kTokenParts][kRows], at the end
  float* shrink;       // [kRows], of a tile
  template <class T>
  __device__ __forceinline__ explicit MlaExchange(T* smem)
      : ring(reinterpret_cast<std::int32_t*>(smem + S::kSmallOffset)),
        maxima(reinterpret_cast<float*>(ring + S::kStages * S::kTile)),
        sums(maxima + S::kTokenParts * S::kRows),
        shrink(sums + S::kTokenParts * S::kRows) {}
};

template <class S, class T>
__device__ __forceinline__ void load_mla_queries(T* smem, const MlaDecodeArgs<T>& a, int sequence,
                                                 int first_row) {
  constexpr int kChunks = kMlaRow / 8;
  const typename S::View view = S::queries(smem);
  const int rows = a.queries * a.heads;
#pragma unroll 1
  for (int i = threadIdx.x; i < S::kRows * kChunks; i += S::kThreads) {
    const int row = i / kChunks;
    const int col = i % kChunks * 8;
    const bool exists = first_row + row < rows;
    const std::int64_t place = std::int64_t{sequence} * rows + (exists ? first_row + row : 0);
    cp_async16(view.at(row, col), a.q + place * kMlaRow + col, exists);
  }
}

// The warp's 16 rows against its tokens. With only eight tokens, two accumulators take turns, so
// that the chain of dependent products is half as long.
template <class S, class T>
__device__ __forceinline__ void mla_scores(TileC (&scores)[S::kWarpTokens / 8], T* smem, int tile,
                                           int row_tile, int token, int lane) {
  const LaneView<T> q = lanes_of_a(S::queries(smem).tile(16 * row_tile, 0), lane);
  clear(scores);
  if constexpr (S::kWarpTokens == 8) {
    const LaneView<T> keys = lanes_of_b_nk_deep(S::stage(smem, tile).tile(token, 0), lane);
    TileC odd[1];
    clear(odd);
#pragma unroll
    for (int d = 0; d < kMlaRow; d += 32) {
      TileB<T> b[2];
      load_b_nk_deep(b, keys, 0, d);
      mma(scores[0], load_a(q, 0, d), b[0]);
      mma(odd[0], load_a(q, 0, d + 16), b[1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[0].r[i] += odd[0].r[i];
  } else {
    const LaneView<T> keys = lanes_of_b_nk(S::stage(smem, tile).tile(token, 0), lane);
#pragma unroll
    for (int d = 0; d < kMlaRow; d += 16) {
      const TileA<T> rows = load_a(q, 0, d);
#pragma unroll
      for (int t = 0; t < S::kWarpTokens / 8; t += 2) {
        TileB<T> b[2];
        load_b_nk(b, keys, 8 * t, d);
        mma(scores[t], rows, b[0]);
        mma(scores[t + 1], rows, b[1]);
      }
    }
  }
}

// Scores to weights in shared memory, with the maximum agreed between the warps that share rows.
// Two barriers: between writing and reading the maxima, and before the weights are used.
template <class S, class T>
__device__ __forceinline__ void mla_weights(TileC (&scores)[S::kWarpTokens / 8], T* smem,
                                            const MlaExchange<S>& exchange, SoftmaxState& state,
                                            int row_tile, int part, int lane, float scale_log2) {
  float* own = exchange.maxima + part * S::kRows + 16 * row_tile;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float max = quad_max(lane_max(scores, h, minus_infinity()));
    if (lane % 4 == 0) own[TileC::row(lane, 2 * h)] = max;
  }
  __syncthreads();
  const typename S::View weights = S::weights(smem).tile(16 * row_tile, part * S::kWarpTokens);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = TileC::row(lane, 2 * h);
    float max = state.max[h];
#pragma unroll
    for (int p = 0; p < S::kTokenParts; ++p) {
      max = fmaxf(max, exchange.maxima[p * S::kRows + 16 * row_tile + row]);
    }
    const float shrink = shrink_factor(state.max[h], max, scale_log2);
    state.max[h] = max;
    state.sum[h] = state.sum[h] * shrink + exponentials(scores, h, max, scale_log2);
    if (part == 0 && lane % 4 == 0) exchange.shrink[16 * row_tile + row] = shrink;
#pragma unroll
    for (int t = 0; t < S::kWarpTokens / 8; ++t) {
      store_pair(weights.at(row, 8 * t + TileC::col(lane, 0)), scores[t].r[2 * h],
                 scores[t].r[2 * h + 1]);
    }
  }
  __syncthreads();
}

// out += weights * latent part, for all rows and this warp's columns.
template <class S, class T>
__device__ __forceinline__ void mla_values(TileC (&out)[S::kRowTiles][S::kWarpCols / 8], T* smem,
                                           const MlaExchange<S>& exchange, int tile, int warp,
                                           int lane) {
#pragma unroll
  for (int m = 0; m < S::kRowTiles; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      scale_rows(out[m], h, exchange.shrink[16 * m + TileC::row(lane, 2 * h)]);
    }
  }
  const LaneView<T> weights = lanes_of_a(S::weights(smem), lane);
  const LaneView<T> values = lanes_of_b_kn(S::stage(smem, tile).tile(0, warp * S::kWarpCols), lane);
#pragma unroll 2
  for (int k = 0; k < S::kTile; k += 16) {
    TileA<T> p[S::kRowTiles];
#pragma unroll
    for (int m = 0; m < S::kRowTiles; ++m) p[m] = load_a(weights, 16 * m, k);
#pragma unroll
    for (int n = 0; n < S::kWarpCols / 8; n += 2) {
      TileB<T> b[2];
      load_b_kn(b, values, k, 8 * n);
#pragma unroll
      for (int m = 0; m < S::kRowTiles; ++m) {
        mma(out[m][n], p[m], b[0]);
        mma(out[m][n + 1], p[m], b[1]);
      }
    }
  }
}

// Sums of the weights meet, the output passes through shared memory and leaves in whole rows.
template <class S, class T>
__device__ __forceinline__ void finish_mla(T* smem, const MlaExchange<S>& exchange,
                                           const MlaDecodeArgs<T>& a, const SplitItem& item,
                                           int first_row, SoftmaxState& state, int row_tile,
                                           int part, TileC (&out)[S::kRowTiles][S::kWarpCols / 8]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  auto* leaving = reinterpret_cast<float*>(smem);  // over the stages and the queries
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float sum = quad_sum(state.sum[h]);
    const int at = part * S::kRows + 16 * row_tile + TileC::row(lane, 2 * h);
    if (lane % 4 == 0) {
      exchange.sums[at] = sum;
      exchange.maxima[at] = state.max[h];
    }
  }
#pragma unroll
  for (int m = 0; m < S::kRowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < S::kWarpCols / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        leaving[(16 * m + TileC::row(lane, i)) * S::kOutStride + warp * S::kWarpCols + 8 * n +
                TileC::col(lane, i)] = out[m][n].r[i];
      }
    }
  }
  __syncthreads();
  constexpr int kChunks = kMlaLatent / 8;
  const int rows = a.queries * a.heads;
#pragma unroll 1
  for (int i = threadIdx.x; i < S::kRows * kChunks; i += S::kThreads) {
    const int row = i / kChunks;
    const int col = i % kChunks * 8;
    if (first_row + row >= rows) break;
    float sum = 0.0f, values[8];
#pragma unroll
    for (int p = 0; p < S::kTokenParts; ++p) sum += exchange.sums[p * S::kRows + row];
#pragma unroll
    for (int j = 0; j < 8; ++j) values[j] = leaving[row * S::kOutStride + col + j];
    write_attention<kMlaLatent>(a.out, a.split, item, rows, first_row + row, col, values, sum,
                                exchange.maxima[row] * (a.scale * kLog2E));
  }
}

// Grid (row tiles, items).
template <class S, class T>
__global__ void __launch_bounds__(S::kThreads) mla_decode_tiles(MlaDecodeArgs<T> a) {
  DYN_SMEM(T, smem);
  const MlaExchange<S> exchange(smem);
  const SplitItem item = a.split.items[blockIdx.y];
  const int first_row = static_cast<int>(blockIdx.x) * S::kRows;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row_tile = warp % S::kRowTiles;
  const int part = warp / S::kRowTiles;

  TokenRows<T, S::kTile, S::kStages> tokens(exchange.ring, a.kv, item.sequence, item.begin,
                                            item.end);
  tokens.fill();
  __syncthreads();
  const int tiles = (item.end - item.begin + S::kTile - 1) / S::kTile;
  const auto copy = [&](int tile) {
    if (tile < tiles) {
      const typename S::View to[1] = {S::stage(smem, tile)};
      const T* const from[1] = {a.kv.k};
      copy_rows<S::kThreads, S::kTile, kMlaRow>(to, from, kMlaRow, tokens.of(tile));
    }
    cp_async_commit();
  };
  load_mla_queries<S>(smem, a, item.sequence, first_row);
  for (int tile = 0; tile < S::kStages - 1; ++tile) copy(tile);

  const int length = a.kv.lengths[item.sequence];
  Visible visible[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = first_row + 16 * row_tile + TileC::row(lane, 2 * h);
    visible[h] = visible_to(length - a.queries + smaller_of(row / a.heads, a.queries - 1), 0);
  }
  const int all_high = length - a.queries + 1;  // tokens before it are seen by every row

  TileC out[S::kRowTiles][S::kWarpCols / 8];
  SoftmaxState state;
  state.clear();
#pragma unroll
  for (int m = 0; m < S::kRowTiles; ++m) clear(out[m]);
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<S::kStages - 2>();
    __syncthreads();  // the tile is here for all, and all have left the one before
    tokens.prefetch(tile + S::kStages);
    copy(tile + S::kStages - 1);
    TileC scores[S::kWarpTokens / 8];
    mla_scores<S>(scores, smem, tile, row_tile, part * S::kWarpTokens, lane);
    const int first_token = item.begin + tile * S::kTile;
    if (first_token + S::kTile > all_high) {
      mask_scores(scores, visible, first_token + part * S::kWarpTokens, lane);
    }
    mla_weights<S>(scores, smem, exchange, state, row_tile, part, lane, a.scale * kLog2E);
    mla_values<S>(out, smem, exchange, tile, warp, lane);
    tokens.publish(tile + S::kStages);
  }
  cp_async_wait<0>();
  __syncthreads();  // stages and queries become the way out
  finish_mla<S>(smem, exchange, a, item, first_row, state, row_tile, part, out);
}

// --- Launchers ---------------------------------------------------------------------------------

template <class T>
void launch_mla_decode_plain(const MlaDecodeArgs<T>& a, Stream stream) {
  launch(mla_decode_plain<T>, dim3(a.queries * a.heads, a.sequences), dim3(32), 0, stream, a);
}

// The plan's tile, and how many blocks each of its items takes.
inline constexpr int kMlaPlanTile = 64;
inline int mla_block_rows(int rows) { return rows <= 16 ? 16 : rows <= 32 ? 32 : 64; }
inline int mla_units(int heads, int queries) {
  const int rows = heads * queries;
  return (rows + mla_block_rows(rows) - 1) / mla_block_rows(rows);
}
// Blocks that a multiprocessor holds: 64 rows fill its shared memory.
inline int mla_blocks_per_multiprocessor(int heads, int queries) {
  return mla_block_rows(heads * queries) == 64 ? 1 : 2;
}

template <class S, class T>
void launch_mla_shape(const MlaDecodeArgs<T>& a, Stream stream) {
  if (a.split.item_count == 0) return;  // no sequence
  const dim3 grid(mla_units(a.heads, a.queries), a.split.item_count);
  launch(mla_decode_tiles<S, T>, grid, dim3(S::kThreads), S::kSmemBytes, stream, a);
  if (a.split.partial_count == 0) return;
  launch(combine_split_kv<T, kMlaLatent>, dim3(a.queries * a.heads, a.sequences), dim3(128), 0,
         stream, a.out, a.split);
}

// smem_per_block: 227 KB on sm_90, 163 KB on sm_80, where 64 rows take half as many tokens a stage.
template <class T>
void launch_mla_decode(const MlaDecodeArgs<T>& a, int smem_per_block, Stream stream) {
  using Large = MlaDecode<T, 4, 64, 8>;
  switch (mla_block_rows(a.heads * a.queries)) {
    case 16:
      return launch_mla_shape<MlaDecode<T, 1, 32, 4>>(a, stream);
    case 32:
      return launch_mla_shape<MlaDecode<T, 2, 32, 4>>(a, stream);
    default:
      if (smem_per_block >= Large::kSmemBytes) return launch_mla_shape<Large>(a, stream);
      return launch_mla_shape<MlaDecode<T, 4, 32, 8>>(a, stream);
  }
}

}  // namespace headway::kernels
