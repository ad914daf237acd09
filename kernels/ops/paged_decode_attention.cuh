#pragma once

// Decode attention over a paged cache: each sequence's newest `queries` tokens (one, or one and the
// drafted ones) attend to all its cached tokens, themselves included.
//
//   out[s, i, h] = sum_j softmax_j(scale * q[s, i, h] . k[s, j, h / group]) * v[s, j, h / group]
//
// for j up to the query's own position, and within the last `window` tokens if there is a window.
//
// Version 1, plain:   one warp a query row; lanes split head_dim, tokens one after another. Every
// query
//                     head reads its own copy of K and V.
// Version 2, tiles:   one block a KV head and sequence. The query heads of a group and the drafted
// tokens
//                     are rows of one 16-row mma (2 or 4 of them for more rows), so K and V are
//                     read once; 64 tokens a stage, three stages of cp.async in flight; exp2 with
//                     the scale folded in. With up to 16 rows each of the four warps takes 16 of
//                     the 64 tokens, and they meet once, at the end. The page table is read a stage
//                     ahead of the copies.
// Version 3, split:   version 2 on pieces of sequences (split_kv.cuh), so that a small batch fills
// the GPU.
//                     This is what is registered; a plan of one piece a sequence is version 2.
//
// Bytes: K and V of the visible tokens once, tokens * kv_heads * head_dim * 2 * sizeof(T); queries
// and outputs are small beside them. FLOPs: 4 * tokens * heads * head_dim, so `group` FLOP a byte:
// memory-bound everywhere. Two blocks a multiprocessor keep 128 KB in flight there (head_dim
// 128); 4.8 TB/s over 132 of them at a latency of 0.8 us need 29 KB.

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "kernels/ops/attention_tile.cuh"
#include "kernels/ops/device_limits.h"
#include "kernels/ops/paged_kv.h"
#include "kernels/ops/split_kv.cuh"
#include "kernels/rt/rt.h"

namespace headway::kernels {

template <class T>
struct PagedDecodeArgs {
  T* out = nullptr;      // [sequences][queries][heads][head_dim]
  const T* q = nullptr;  // the same
  PagedKv<T> kv;
  std::int32_t sequences = 0;
  std::int32_t queries = 1;  // the newest tokens of each sequence
  std::int32_t heads = 0;    // a multiple of kv.kv_heads
  std::int32_t window = 0;   // 0: none
  float scale = 0;           // 1 / sqrt(head_dim), usually
  SplitKv split;             // version 3
};

// --- Version 1 ---------------------------------------------------------------------------------

// Grid (queries * heads, sequences), one warp.
template <class T, int kDim>
__global__ void __launch_bounds__(32) paged_decode_plain(PagedDecodeArgs<T> a) {
  const int sequence = static_cast<int>(blockIdx.y);
  const int query = static_cast<int>(blockIdx.x) / a.heads;
  const int head = static_cast<int>(blockIdx.x) % a.heads;
  const std::int64_t row = std::int64_t{sequence} * gridDim.x + blockIdx.x;
  attend_plainly<kDim>(
      a.out + row * kDim, a.q + row * kDim, a.kv, sequence, head / (a.heads / a.kv.kv_heads),
      visible_to(a.kv.lengths[sequence] - a.queries + query, a.window), a.scale * kLog2E);
}

// --- Versions 2 and 3 --------------------------------------------------------------------------

// kRowTiles 16-row tiles a block. Fewer row tiles than warps: the warps split the tokens of a
// stage.
template <class T, int kHeadDim, int kTilesOfRows>
struct PagedDecode {
  static constexpr int kDim = kHeadDim;
  static constexpr int kRowTiles = kTilesOfRows;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kTile = 64;  // tokens a stage
  static constexpr int kStages = 3;
  static constexpr int kRows = 16 * kRowTiles;
  static constexpr int kTokenParts = kWarps / kRowTiles;
  static constexpr int kWarpTokens = kTile / kTokenParts;
  static constexpr int kOutStride =
      kDim + 8;  // f32 rows of the meeting, padded against bank conflicts

  using View = SmemView<T, Swizzle128>;

  static constexpr int kStageElements = 2 * kTile * kDim;
  static constexpr int kStageBytes = kStages * kStageElements * static_cast<int>(sizeof(T));
  static constexpr int kQueryBytes = kRows * kDim * static_cast<int>(sizeof(T));
  static constexpr int kRingBytes = kStages * kTile * 4;
  static constexpr int kSmemBytes = kStageBytes + kQueryBytes + kRingBytes;
  static_assert(kTokenParts * kRows * (kOutStride + 2) * 4 <= kStageBytes);

  static __device__ __forceinline__ View k_view(T* stages, int tile) {
    return {stages + tile % kStages * kStageElements, kDim};
  }
  static __device__ __forceinline__ View v_view(T* stages, int tile) {
    return {stages + tile % kStages * kStageElements + kTile * kDim, kDim};
  }
};

// The rows of a block: row r of sequence s is query r / group, query head kv_head * group + r %
// group.
struct DecodeRows {
  int group, queries, heads, first_head;
  __device__ __forceinline__ int query(int row) const { return row / group; }
  // The row's place in [queries][heads].
  __device__ __forceinline__ int place(int row) const {
    return row / group * heads + first_head + row % group;
  }
  __device__ __forceinline__ bool exists(int row) const { return row < queries * group; }
};

template <class S, class T>
__device__ __forceinline__ void load_queries(T* queries, const PagedDecodeArgs<T>& a, int sequence,
                                             int first_row, const DecodeRows& rows) {
  constexpr int kChunks = S::kDim / 8;
  const typename S::View view{queries, S::kDim};
  for (int i = threadIdx.x; i < S::kRows * kChunks; i += S::kThreads) {
    const int row = i / kChunks;
    const int col = i % kChunks * 8;
    const bool exists = rows.exists(first_row + row);
    const std::int64_t place = exists ? rows.place(first_row + row) : 0;
    cp_async16(view.at(row, col),
               a.q + (std::int64_t{sequence} * a.queries * a.heads + place) * S::kDim + col,
               exists);
  }
}

// scores[t]: this warp's 16 rows against its 8 tokens t.
template <class S, class T, int kTiles>
__device__ __forceinline__ void score_tokens(TileC (&scores)[kTiles],
                                             const TileA<T> (&q)[S::kDim / 16],
                                             const LaneView<T>& k_lanes) {
  clear(scores);
#pragma unroll
  for (int d = 0; d < S::kDim / 16; ++d) {
#pragma unroll
    for (int t = 0; t < kTiles; t += 2) {
      TileB<T> b[2];
      load_b_nk(b, k_lanes, 8 * t, 16 * d);
      mma(scores[t], q[d], b[0]);
      mma(scores[t + 1], q[d], b[1]);
    }
  }
}

// out += weights * values, weights rounded to T.
template <class T, int kTiles, int kOutTiles>
__device__ __forceinline__ void add_values(TileC (&out)[kOutTiles], const TileC (&weights)[kTiles],
                                           const LaneView<T>& v_lanes) {
#pragma unroll
  for (int t = 0; t < kTiles; t += 2) {
    const TileA<T> p = as_a<T>(weights[t], weights[t + 1]);
#pragma unroll
    for (int n = 0; n < kOutTiles; n += 2) {
      TileB<T> b[2];
      load_b_kn(b, v_lanes, 8 * t, 8 * n);
      mma(out[n], p, b[0]);
      mma(out[n + 1], p, b[1]);
    }
  }
}

// The warps' results meet in shared memory (f32) and leave as one: the final output, or a partial
// one.
template <class S, class T>
__device__ __forceinline__ void finish_decode(float* meeting, const PagedDecodeArgs<T>& a,
                                              const SplitItem& item, int first_row,
                                              const DecodeRows& rows, SoftmaxState& state,
                                              TileC (&out)[S::kDim / 8]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % S::kRowTiles * 16;
  const int part = warp / S::kRowTiles;
  float* maxima = meeting + S::kTokenParts * S::kRows * S::kOutStride;
  float* sums = maxima + S::kTokenParts * S::kRows;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    state.sum[h] = quad_sum(state.sum[h]);
    if (lane % 4 == 0) maxima[part * S::kRows + warp_row + TileC::row(lane, 2 * h)] = state.max[h];
  }
  __syncthreads();
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = warp_row + TileC::row(lane, 2 * h);
    float max = minus_infinity();
#pragma unroll
    for (int p = 0; p < S::kTokenParts; ++p) max = fmaxf(max, maxima[p * S::kRows + row]);
    const float shrink = shrink_factor(state.max[h], max, a.scale * kLog2E);
    if (lane % 4 == 0) sums[part * S::kRows + row] = state.sum[h] * shrink;
    float* to = meeting + (part * S::kRows + row) * S::kOutStride;
#pragma unroll
    for (int n = 0; n < S::kDim / 8; ++n) {
      to[8 * n + TileC::col(lane, 0)] = out[n].r[2 * h] * shrink;
      to[8 * n + TileC::col(lane, 1)] = out[n].r[2 * h + 1] * shrink;
    }
  }
  __syncthreads();
  constexpr int kChunks = S::kDim / 8;
  for (int i = threadIdx.x; i < S::kRows * kChunks; i += S::kThreads) {
    const int row = i / kChunks;
    const int col = i % kChunks * 8;
    if (!rows.exists(first_row + row)) continue;
    float max = minus_infinity(), sum = 0.0f, values[8] = {};
#pragma unroll
    for (int p = 0; p < S::kTokenParts; ++p) {
      max = fmaxf(max, maxima[p * S::kRows + row]);
      sum += sums[p * S::kRows + row];
      const float* from = meeting + (p * S::kRows + row) * S::kOutStride + col;
#pragma unroll
      for (int j = 0; j < 8; ++j) values[j] += from[j];
    }
    write_attention<S::kDim>(a.out, a.split, item, a.queries * a.heads, rows.place(first_row + row),
                             col, values, sum, max * (a.scale * kLog2E));
  }
}

// Grid (KV heads * row tiles, items).
template <class S, class T>
__global__ void __launch_bounds__(S::kThreads) paged_decode_tiles(PagedDecodeArgs<T> a) {
  DYN_SMEM(T, smem);
  T* stages = smem;
  T* queries = smem + S::kStages * S::kStageElements;
  auto* ring = reinterpret_cast<std::int32_t*>(queries + S::kRows * S::kDim);

  const SplitItem item = a.split.items[blockIdx.y];
  const int kv_head = static_cast<int>(blockIdx.x) % a.kv.kv_heads;
  const int first_row = static_cast<int>(blockIdx.x) / a.kv.kv_heads * S::kRows;
  const int group = a.heads / a.kv.kv_heads;
  const DecodeRows rows{group, a.queries, a.heads, kv_head * group};
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % S::kRowTiles * 16;
  const int warp_token = warp / S::kRowTiles * S::kWarpTokens;

  TokenRows<T, S::kTile, S::kStages> tokens(ring, a.kv, item.sequence, item.begin, item.end);
  tokens.fill();
  __syncthreads();

  const std::int64_t row_stride = std::int64_t{a.kv.kv_heads} * S::kDim;
  const T* const sources[2] = {a.kv.k + kv_head * S::kDim, a.kv.v + kv_head * S::kDim};
  const int tiles = (item.end - item.begin + S::kTile - 1) / S::kTile;
  const auto copy = [&](int tile) {
    if (tile < tiles) {
      const typename S::View to[2] = {S::k_view(stages, tile), S::v_view(stages, tile)};
      copy_rows<S::kThreads, S::kTile, S::kDim>(to, sources, row_stride, tokens.of(tile));
    }
    cp_async_commit();
  };
  load_queries<S>(queries, a, item.sequence, first_row, rows);
  for (int tile = 0; tile < S::kStages - 1; ++tile) copy(tile);

  const int length = a.kv.lengths[item.sequence];
  Visible visible[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = first_row + warp_row + TileC::row(lane, 2 * h);
    const int query = rows.exists(row) ? rows.query(row) : a.queries - 1;
    visible[h] = visible_to(length - a.queries + query, a.window);
  }
  // Tokens that every row sees: no mask is needed there.
  const int all_low = visible_to(length - 1, a.window).low;
  const int all_high = length - a.queries + 1;

  TileA<T> q[S::kDim / 16];
  TileC out[S::kDim / 8];
  SoftmaxState state;
  state.clear();
  clear(out);
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<S::kStages - 2>();
    __syncthreads();  // the tile is here for all, and all have left the one before
    tokens.prefetch(tile + S::kStages);
    copy(tile + S::kStages - 1);
    if (tile == 0) {
#pragma unroll
      for (int d = 0; d < S::kDim / 16; ++d) {
        q[d] = load_a(lanes_of_a(typename S::View{queries, S::kDim}, lane), warp_row, 16 * d);
      }
    }
    TileC scores[S::kWarpTokens / 8];
    score_tokens<S>(scores, q, lanes_of_b_nk(S::k_view(stages, tile).tile(warp_token, 0), lane));
    const int first_token = item.begin + tile * S::kTile;
    if (first_token < all_low || first_token + S::kTile > all_high) {
      mask_scores(scores, visible, first_token + warp_token, lane);
    }
    softmax_step(scores, state, out, a.scale * kLog2E);
    add_values<T>(out, scores, lanes_of_b_kn(S::v_view(stages, tile).tile(warp_token, 0), lane));
    tokens.publish(tile + S::kStages);
  }
  cp_async_wait<0>();
  __syncthreads();  // the stages become the meeting place
  finish_decode<S>(reinterpret_cast<float*>(stages), a, item, first_row, rows, state, out);
}

// --- Launchers ---------------------------------------------------------------------------------

template <class T>
void launch_paged_decode_plain(const PagedDecodeArgs<T>& a, int head_dim, Stream stream) {
  const dim3 grid(a.queries * a.heads, a.sequences);
  if (head_dim == 64) return launch(paged_decode_plain<T, 64>, grid, dim3(32), 0, stream, a);
  if (head_dim == 128) return launch(paged_decode_plain<T, 128>, grid, dim3(32), 0, stream, a);
  throw std::invalid_argument("decode attention: head_dim must be 64 or 128");
}

// How many 16-row tiles a block takes, and how many blocks each item takes: the plan's `units`.
inline int decode_row_tiles(int rows) { return rows <= 16 ? 1 : rows <= 32 ? 2 : 4; }
inline int decode_units(int heads, int kv_heads, int queries) {
  const int rows = heads / kv_heads * queries;
  const int block_rows = 16 * decode_row_tiles(rows);
  return kv_heads * ((rows + block_rows - 1) / block_rows);
}
inline constexpr int kDecodeTile = 64;
// Blocks that a multiprocessor is to hold: as many as keep the same bytes in flight.
inline int decode_blocks_per_multiprocessor(int head_dim) { return 256 / head_dim; }

template <class S, class T>
void launch_decode_shape(const PagedDecodeArgs<T>& a, Stream stream) {
  if (a.split.item_count == 0) return;  // no sequence
  const dim3 grid(decode_units(a.heads, a.kv.kv_heads, a.queries), a.split.item_count);
  launch(paged_decode_tiles<S, T>, grid, dim3(S::kThreads), S::kSmemBytes, stream, a);
  if (a.split.partial_count == 0) return;
  launch(combine_split_kv<T, S::kDim>, dim3(a.queries * a.heads, a.sequences), dim3(128), 0, stream,
         a.out, a.split);
}

template <class T, int kDim>
void launch_decode_dim(const PagedDecodeArgs<T>& a, Stream stream) {
  switch (decode_row_tiles(a.heads / a.kv.kv_heads * a.queries)) {
    case 1:
      return launch_decode_shape<PagedDecode<T, kDim, 1>>(a, stream);
    case 2:
      return launch_decode_shape<PagedDecode<T, kDim, 2>>(a, stream);
    default:
      return launch_decode_shape<PagedDecode<T, kDim, 4>>(a, stream);
  }
}

// a.split holds a plan made with decode_units() and kDecodeTile.
template <class T>
void launch_paged_decode(const PagedDecodeArgs<T>& a, int head_dim, Stream stream) {
  if (head_dim == 64) return launch_decode_dim<T, 64>(a, stream);
  if (head_dim == 128) return launch_decode_dim<T, 128>(a, stream);
  throw std::invalid_argument("decode attention: head_dim must be 64 or 128");
}

}  // namespace headway::kernels
