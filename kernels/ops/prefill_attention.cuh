#pragma once

// Prefill attention: the new tokens of each sequence - a whole prompt or the next chunk of one -
// attend causally to the sequence's history and to one another.
//
//   out[t, h] = sum_j softmax_j(scale * q[t, h] . k[s, j, h / group]) * v[s, j, h / group]
//
// for j up to the query's own position, history + t - q_start[s], and within the last `window`
// tokens if there is a window. K and V are read from pages, the new tokens' included, because that
// is what a chunk has at hand: an engine writes the chunk's keys and values into the cache first,
// and its history is nowhere else. A contiguous K and V is the same cache with one page a sequence.
//
// Version 1, plain:  one warp a query row, as in decode.
// Version 2, tiles:  FlashAttention-2 (Dao, 2023): a block owns 128 (or 64) query rows and walks
// the keys
//                    once, in tiles of 48 or 64 tokens, with an online softmax; scores and weights
//                    stay in registers; mma.sync with ldmatrix from swizzled shared memory; the
//                    next tile's cp.async runs under the present tile's products (two stages, one
//                    barrier a tile). A warp owns two 16-row tiles, so each K and V fragment that
//                    it loads serves two products: with one, shared memory would be the bottleneck.
//                    The query heads of a KV group are packed into the rows (row r: new token r /
//                    group), so that a short chunk fills its tiles, and blocks with the most keys
//                    start first.
//
// FLOPs: 4 * head_dim * heads per visible pair (about new * (history + new / 2) of them); bytes: q,
// out and the visible K and V once. A block of 128 rows does 128 FLOP a byte that it reads (bf16),
// mostly from L2, where the blocks of one KV head run side by side. Compute-bound from a few
// hundred tokens.

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "kernels/ops/attention_tile.cuh"
#include "kernels/ops/paged_kv.h"
#include "kernels/rt/rt.h"

namespace headway::kernels {

template <class T>
struct PrefillArgs {
  T* out = nullptr;      // [total new tokens][heads][head_dim]
  const T* q = nullptr;  // the same
  PagedKv<T> kv;         // lengths: history and new tokens
  const std::int32_t* q_start =
      nullptr;  // [sequences + 1] where a sequence's new tokens begin in q
  std::int32_t sequences = 0;
  std::int32_t max_new_tokens = 0;  // the longest of a sequence
  std::int32_t heads = 0;           // a multiple of kv.kv_heads
  std::int32_t window = 0;          // 0: none
  float scale = 0;                  // 1 / sqrt(head_dim), usually
};

// --- Version 1 ---------------------------------------------------------------------------------

// Grid (heads, longest chunk, sequences), one warp.
template <class T, int kDim>
__global__ void __launch_bounds__(32) prefill_plain(PrefillArgs<T> a) {
  const int sequence = static_cast<int>(blockIdx.z);
  const int new_token = static_cast<int>(blockIdx.y);
  const int head = static_cast<int>(blockIdx.x);
  const int begin = a.q_start[sequence];
  const int new_tokens = a.q_start[sequence + 1] - begin;
  if (new_token >= new_tokens) return;
  const std::int64_t row = std::int64_t{begin + new_token} * a.heads + head;
  attend_plainly<kDim>(
      a.out + row * kDim, a.q + row * kDim, a.kv, sequence, head / (a.heads / a.kv.kv_heads),
      visible_to(a.kv.lengths[sequence] - new_tokens + new_token, a.window), a.scale * kLog2E);
}

// --- Version 2 ---------------------------------------------------------------------------------

// kWarpRowTiles: 16-row tiles a warp owns.
template <class T, int kHeadDim, int kRowTilesOfWarp>
struct Prefill {
  static constexpr int kDim = kHeadDim;
  static constexpr int kWarpRowTiles = kRowTilesOfWarp;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kStages = 2;
  static constexpr int kWarpRows = 16 * kWarpRowTiles;
  static constexpr int kRows = kWarps * kWarpRows;
  // Queries stay in registers where there is room; else they are read again for each tile.
  static constexpr bool kKeepQueries = kDim * kWarpRowTiles <= 128;
  // Tokens a stage. 64 with two row tiles at head_dim 128 is 192 accumulators, and ptxas spills.
  static constexpr int kTile = kKeepQueries ? 64 : 48;

  using View = SmemView<T, Swizzle128>;

  static constexpr int kStageElements = 2 * kTile * kDim;
  static constexpr int kSmemBytes =
      (kStages * kStageElements + kRows * kDim) * static_cast<int>(sizeof(T)) + kStages * kTile * 4;

  static __device__ __forceinline__ View k_view(T* stages, int tile) {
    return {stages + tile % kStages * kStageElements, kDim};
  }
  static __device__ __forceinline__ View v_view(T* stages, int tile) {
    return {stages + tile % kStages * kStageElements + kTile * kDim, kDim};
  }
};

// The rows of a block: row r is new token r / group, query head first_head + r % group.
template <class T>
struct PrefillRows {
  const PrefillArgs<T>& a;
  int group, first_head, begin, new_tokens, history;
  __device__ __forceinline__ PrefillRows(const PrefillArgs<T>& args, int sequence, int kv_head)
      : a(args),
        group(args.heads / args.kv.kv_heads),
        first_head(kv_head * group),
        begin(args.q_start[sequence]),
        new_tokens(args.q_start[sequence + 1] - begin),
        history(args.kv.lengths[sequence] - new_tokens) {}
  __device__ __forceinline__ int count() const { return new_tokens * group; }
  __device__ __forceinline__ Visible visible(int row) const {
    return visible_to(history + smaller_of(row / group, new_tokens - 1), a.window);
  }
  // The row's place in [total new tokens][heads].
  __device__ __forceinline__ std::int64_t place(int row) const {
    return std::int64_t{begin + row / group} * a.heads + first_head + row % group;
  }
};

template <class S, class T>
__device__ __forceinline__ void load_prefill_queries(T* queries, const PrefillRows<T>& rows,
                                                     int first_row) {
  constexpr int kChunks = S::kDim / 8;
  const typename S::View view{queries, S::kDim};
  for (int i = threadIdx.x; i < S::kRows * kChunks; i += S::kThreads) {
    const int row = i / kChunks;
    const int col = i % kChunks * 8;
    const bool exists = first_row + row < rows.count();
    const std::int64_t place = exists ? rows.place(first_row + row) : 0;
    cp_async16(view.at(row, col), rows.a.q + place * S::kDim + col, exists);
  }
}

// A warp's queries: fragments kept, or read from shared memory when asked for.
template <class S, class T, bool kKeep>
struct PrefillQueries {
  TileA<T> kept[S::kWarpRowTiles][S::kDim / 16];
  __device__ __forceinline__ void load(const LaneView<T>& lanes) {
#pragma unroll
    for (int m = 0; m < S::kWarpRowTiles; ++m) {
#pragma unroll
      for (int d = 0; d < S::kDim / 16; ++d) kept[m][d] = load_a(lanes, 16 * m, 16 * d);
    }
  }
  __device__ __forceinline__ TileA<T> get(const LaneView<T>&, int m, int d) const {
    return kept[m][d];
  }
};
template <class S, class T>
struct PrefillQueries<S, T, false> {
  __device__ __forceinline__ void load(const LaneView<T>&) {}
  __device__ __forceinline__ TileA<T> get(const LaneView<T>& lanes, int m, int d) const {
    return load_a(lanes, 16 * m, 16 * d);
  }
};

template <class S, class T, class Queries>
__device__ __forceinline__ void prefill_scores(TileC (&scores)[S::kWarpRowTiles][S::kTile / 8],
                                               const Queries& queries, const LaneView<T>& q_lanes,
                                               const LaneView<T>& k_lanes) {
#pragma unroll
  for (int m = 0; m < S::kWarpRowTiles; ++m) clear(scores[m]);
#pragma unroll
  for (int d = 0; d < S::kDim / 16; ++d) {
    TileA<T> q[S::kWarpRowTiles];
#pragma unroll
    for (int m = 0; m < S::kWarpRowTiles; ++m) q[m] = queries.get(q_lanes, m, d);
#pragma unroll
    for (int t = 0; t < S::kTile / 8; t += 2) {
      TileB<T> b[2];
      load_b_nk(b, k_lanes, 8 * t, 16 * d);
#pragma unroll
      for (int m = 0; m < S::kWarpRowTiles; ++m) {
        mma(scores[m][t], q[m], b[0]);
        mma(scores[m][t + 1], q[m], b[1]);
      }
    }
  }
}

// warp_row: the warp's first row. first_token: of scores[m][0].
template <class S, class T>
__device__ __forceinline__ void mask_prefill(TileC (&scores)[S::kWarpRowTiles][S::kTile / 8],
                                             const PrefillRows<T>& rows, int warp_row,
                                             int first_token, int lane) {
#pragma unroll
  for (int m = 0; m < S::kWarpRowTiles; ++m) {
    const int row = warp_row + 16 * m;
    const Visible visible[2] = {rows.visible(row + TileC::row(lane, 0)),
                                rows.visible(row + TileC::row(lane, 2))};
    mask_scores(scores[m], visible, first_token, lane);
  }
}

template <class S, class T>
__device__ __forceinline__ void prefill_values(
    TileC (&out)[S::kWarpRowTiles][S::kDim / 8],
    const TileA<T> (&weights)[S::kWarpRowTiles][S::kTile / 16], const LaneView<T>& v_lanes) {
#pragma unroll
  for (int t = 0; t < S::kTile / 8; t += 2) {
#pragma unroll
    for (int n = 0; n < S::kDim / 8; n += 2) {
      TileB<T> b[2];
      load_b_kn(b, v_lanes, 8 * t, 8 * n);
#pragma unroll
      for (int m = 0; m < S::kWarpRowTiles; ++m) {
        mma(out[m][n], weights[m][t / 2], b[0]);
        mma(out[m][n + 1], weights[m][t / 2], b[1]);
      }
    }
  }
}

// The warp's rows go out through its own rows of the queries' space, which it alone still uses.
template <class S, class T>
__device__ __forceinline__ void store_prefill(T* staging, const PrefillRows<T>& rows, int first_row,
                                              SoftmaxState (&state)[S::kWarpRowTiles],
                                              const TileC (&out)[S::kWarpRowTiles][S::kDim / 8]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * S::kWarpRows;
  const typename S::View view = typename S::View{staging, S::kDim}.tile(warp_row, 0);
  __syncwarp();
#pragma unroll
  for (int m = 0; m < S::kWarpRowTiles; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float sum = quad_sum(state[m].sum[h]);
      const float scale = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
      for (int n = 0; n < S::kDim / 8; ++n) {
        store_pair(view.at(16 * m + TileC::row(lane, 2 * h), 8 * n + TileC::col(lane, 0)),
                   out[m][n].r[2 * h] * scale, out[m][n].r[2 * h + 1] * scale);
      }
    }
  }
  __syncwarp();
  constexpr int kChunks = S::kDim / 8;
  for (int i = lane; i < S::kWarpRows * kChunks; i += 32) {
    const int row = i / kChunks;
    const int col = i % kChunks * 8;
    if (first_row + warp_row + row >= rows.count()) break;
    store16(rows.a.out + rows.place(first_row + warp_row + row) * S::kDim + col,
            load16(view.at(row, col)));
  }
}

// Grid (row tiles of the longest chunk, KV heads, sequences).
template <class S, class T>
__global__ void __launch_bounds__(S::kThreads) prefill_tiles(PrefillArgs<T> a) {
  DYN_SMEM(T, smem);
  T* stages = smem;
  T* queries = smem + S::kStages * S::kStageElements;
  auto* ring = reinterpret_cast<std::int32_t*>(queries + S::kRows * S::kDim);

  const int sequence = static_cast<int>(blockIdx.z);
  const int kv_head = static_cast<int>(blockIdx.y);
  // The last rows see the most keys: they start first, the short ones fill the end.
  const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * S::kRows;
  const PrefillRows<T> block_rows(a, sequence, kv_head);
  if (first_row >= block_rows.count()) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * S::kWarpRows;

  const Visible first_visible = block_rows.visible(first_row);
  const Visible last_visible = block_rows.visible(first_row + S::kRows - 1);
  const int begin = first_visible.low;
  const int end = last_visible.high;
  const int tiles = (end - begin + S::kTile - 1) / S::kTile;

  TokenRows<T, S::kTile, S::kStages> tokens(ring, a.kv, sequence, begin, end);
  tokens.fill();
  __syncthreads();
  const auto copy = [&](int tile) {
    if (tile < tiles) {
      const std::int64_t row_stride = std::int64_t{a.kv.kv_heads} * S::kDim;
      const int first = kv_head * S::kDim;
      const T* const sources[2] = {a.kv.k + first, a.kv.v + first};
      const typename S::View to[2] = {S::k_view(stages, tile), S::v_view(stages, tile)};
      copy_rows<S::kThreads, S::kTile, S::kDim>(to, sources, row_stride, tokens.of(tile));
    }
    cp_async_commit();
  };
  load_prefill_queries<S>(queries, block_rows, first_row);
  for (int tile = 0; tile < S::kStages - 1; ++tile) copy(tile);

  const auto q_view = typename S::View{queries, S::kDim}.tile(warp_row, 0);
  PrefillQueries<S, T, S::kKeepQueries> q;
  TileC out[S::kWarpRowTiles][S::kDim / 8];
  SoftmaxState state[S::kWarpRowTiles];
#pragma unroll
  for (int m = 0; m < S::kWarpRowTiles; ++m) {
    clear(out[m]);
    state[m].clear();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<S::kStages - 2>();
    __syncthreads();  // the tile is here for all, and all have left the one before
    tokens.prefetch(tile + S::kStages);
    copy(tile + S::kStages - 1);
    if (tile == 0) q.load(lanes_of_a(q_view, lane));

    TileC scores[S::kWarpRowTiles][S::kTile / 8];
    prefill_scores<S, T>(scores, q, lanes_of_a(q_view, lane),
                         lanes_of_b_nk(S::k_view(stages, tile), lane));
    const int first_token = begin + tile * S::kTile;
    if (first_token < last_visible.low || first_token + S::kTile > first_visible.high) {
      // The rows are read again rather than kept: registers are dear, and masked tiles are few.
      mask_prefill<S>(scores, PrefillRows<T>(a, sequence, kv_head), first_row + warp_row,
                      first_token, lane);
    }
    TileA<T> weights[S::kWarpRowTiles][S::kTile / 16];
#pragma unroll
    for (int m = 0; m < S::kWarpRowTiles; ++m) {
      softmax_step(scores[m], state[m], out[m], a.scale * kLog2E);
#pragma unroll
      for (int t = 0; t < S::kTile / 16; ++t) {
        weights[m][t] = as_a<T>(scores[m][2 * t], scores[m][2 * t + 1]);
      }
    }
    prefill_values<S, T>(out, weights, lanes_of_b_kn(S::v_view(stages, tile), lane));
    tokens.publish(tile + S::kStages);
  }
  cp_async_wait<0>();
  store_prefill<S>(queries, PrefillRows<T>(a, sequence, kv_head), first_row, state, out);
}

// --- Launchers ---------------------------------------------------------------------------------

template <class T>
void launch_prefill_plain(const PrefillArgs<T>& a, int head_dim, Stream stream) {
  const dim3 grid(a.heads, a.max_new_tokens, a.sequences);
  if (head_dim == 64) return launch(prefill_plain<T, 64>, grid, dim3(32), 0, stream, a);
  if (head_dim == 128) return launch(prefill_plain<T, 128>, grid, dim3(32), 0, stream, a);
  throw std::invalid_argument("prefill attention: head_dim must be 64 or 128");
}

template <class S, class T>
void launch_prefill_shape(const PrefillArgs<T>& a, Stream stream) {
  const int rows = a.max_new_tokens * (a.heads / a.kv.kv_heads);
  const dim3 grid((rows + S::kRows - 1) / S::kRows, a.kv.kv_heads, a.sequences);
  launch(prefill_tiles<S, T>, grid, dim3(S::kThreads), S::kSmemBytes, stream, a);
}

template <class T, int kDim>
void launch_prefill_dim(const PrefillArgs<T>& a, Stream stream) {
  if (a.max_new_tokens * (a.heads / a.kv.kv_heads) <= 64) {
    return launch_prefill_shape<Prefill<T, kDim, 1>>(a, stream);
  }
  return launch_prefill_shape<Prefill<T, kDim, 2>>(a, stream);
}

template <class T>
void launch_prefill(const PrefillArgs<T>& a, int head_dim, Stream stream) {
  if (a.max_new_tokens == 0 || a.sequences == 0) return;
  if (head_dim == 64) return launch_prefill_dim<T, 64>(a, stream);
  if (head_dim == 128) return launch_prefill_dim<T, 128>(a, stream);
  throw std::invalid_argument("prefill attention: head_dim must be 64 or 128");
}

}  // namespace headway::kernels
