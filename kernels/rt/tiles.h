#pragma once

// Warp tiles: matrix products at the level of mma.sync.m16n8k16, whose register layout PTX
// documents
// ("Matrix Fragments for mma.m16n8k16", "ldmatrix" in the PTX ISA). The same source for both
// runtimes; below it lie two verbs, mma_m16n8k16 and ldmatrix_x4. All 32 lanes of a warp call.
// T is bf16 or f16. A kernel addresses an accumulator through row() and col() only.

#include "kernels/rt/number_types.h"

namespace headway::kernels {

// How the 16-byte chunks of a row in shared memory are permuted, so that the eight rows which one
// ldmatrix phase reads lie in different banks.
struct NoSwizzle {
  static HEADWAY_HD int chunk(int /*row*/, int chunk) { return chunk; }
};
// Rows of 64 elements or a multiple (128 bytes: all banks).
struct Swizzle128 {
  static HEADWAY_HD int chunk(int row, int chunk) { return chunk ^ (row & 7); }
};
// Rows of 32 elements (64 bytes).
struct Swizzle64 {
  static HEADWAY_HD int chunk(int row, int chunk) { return chunk ^ ((row >> 1) & 3); }
};

// A matrix in shared memory, row-major with `stride` elements a row (a multiple of 8), and the
// place in it where a tile starts (column a multiple of 8).
template <class T, class Swizzle = NoSwizzle>
struct SmemView {
  T* base;
  int stride;
  int row0 = 0;
  int col0 = 0;

  // The element at (row, col) of the tile. Elements of one aligned group of 8 columns are adjacent.
  HEADWAY_HD T* at(int row, int col) const {
    const int r = row0 + row;
    const int c = col0 + col;
    return base + r * stride + Swizzle::chunk(r, c >> 3) * 8 + (c & 7);
  }
  HEADWAY_HD SmemView tile(int row, int col) const {
    return {base, stride, row0 + row, col0 + col};
  }
};

template <class T>
struct TileA {  // 16 rows (m) x 16 columns (k)
  std::uint32_t r[4];
};
template <class T>
struct TileB {  // 16 rows (k) x 8 columns (n)
  std::uint32_t r[2];
};
struct TileC {  // 16 rows (m) x 8 columns (n), f32
  float r[4];
  // Where element i of this lane lies. Elements 0, 1 share a row, and so do 2, 3.
  static HEADWAY_HD int row(int lane, int i) { return (lane >> 2) + (i >> 1) * 8; }
  static HEADWAY_HD int col(int lane, int i) { return (lane & 3) * 2 + (i & 1); }
};

// A from rows of m: view(m, k).
template <class T, class S>
__device__ __forceinline__ TileA<T> load_a(const SmemView<T, S>& view, int lane) {
  TileA<T> tile;
  ldmatrix_x4<false>(tile.r[0], tile.r[1], tile.r[2], tile.r[3],
                     view.at(lane & 15, (lane >> 4) * 8));
  return tile;
}

// Two B tiles, n = 0..7 and 8..15, from rows of n: view(n, k). K of attention, weights [n][k].
template <class T, class S>
__device__ __forceinline__ void load_b_nk(TileB<T> (&tiles)[2], const SmemView<T, S>& view,
                                          int lane) {
  ldmatrix_x4<false>(tiles[0].r[0], tiles[0].r[1], tiles[1].r[0], tiles[1].r[1],
                     view.at((lane & 7) + ((lane >> 4) << 3), ((lane >> 3) & 1) * 8));
}

// Two B tiles, n = 0..7 and 8..15, from rows of k: view(k, n), transposing. V of attention.
template <class T, class S>
__device__ __forceinline__ void load_b_kn(TileB<T> (&tiles)[2], const SmemView<T, S>& view,
                                          int lane) {
  ldmatrix_x4<true>(tiles[0].r[0], tiles[0].r[1], tiles[1].r[0], tiles[1].r[1],
                    view.at((lane & 7) + ((lane >> 3) & 1) * 8, (lane >> 4) * 8));
}

// The same three loads with a lane's address worked out once, for loops that are short of
// registers: a matrix under Swizzle128, tiles at rows that are a multiple of 8 and columns a
// multiple of 16, all known when compiling. Then one exclusive-or (of four different ones) and an
// immediate offset are left a load.
template <class T>
struct LaneView {
  T* base;    // this lane's row of the tile at (0, 0)
  int stride;
  int twist;  // exclusive-or of its chunk with its row, in elements

  HEADWAY_HD const T* at(int row, int col) const {
    return base + row * stride + (col & ~63) + ((col & 63) ^ twist);
  }
};

// view: its first row a multiple of 8, its first column of 64. row, chunk: the lane's, in a tile.
template <class T>
HEADWAY_HD LaneView<T> lane_view(const SmemView<T, Swizzle128>& view, int row, int chunk) {
  return {view.base + (view.row0 + row) * view.stride + view.col0, view.stride,
          (chunk ^ (row & 7)) * 8};
}
template <class T>
HEADWAY_HD LaneView<T> lanes_of_a(const SmemView<T, Swizzle128>& view, int lane) {
  return lane_view(view, lane & 15, lane >> 4);
}
template <class T>
HEADWAY_HD LaneView<T> lanes_of_b_nk(const SmemView<T, Swizzle128>& view, int lane) {
  return lane_view(view, (lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
}
template <class T>
HEADWAY_HD LaneView<T> lanes_of_b_kn(const SmemView<T, Swizzle128>& view, int lane) {
  return lane_view(view, (lane & 7) + ((lane >> 3) & 1) * 8, lane >> 4);
}
// For load_b_nk_deep.
template <class T>
HEADWAY_HD LaneView<T> lanes_of_b_nk_deep(const SmemView<T, Swizzle128>& view, int lane) {
  return lane_view(view, lane & 7, lane >> 3);
}

template <class T>
__device__ __forceinline__ TileA<T> load_a(const LaneView<T>& lanes, int row, int col) {
  TileA<T> tile;
  ldmatrix_x4<false>(tile.r[0], tile.r[1], tile.r[2], tile.r[3], lanes.at(row, col));
  return tile;
}
template <class T>
__device__ __forceinline__ void load_b_nk(TileB<T> (&tiles)[2], const LaneView<T>& lanes, int row,
                                          int col) {
  ldmatrix_x4<false>(tiles[0].r[0], tiles[0].r[1], tiles[1].r[0], tiles[1].r[1],
                     lanes.at(row, col));
}
// Two B tiles of the same 8 columns n, k = 0..15 and 16..31, from rows of n: for a warp that has
// only eight of them. Column a multiple of 32.
template <class T>
__device__ __forceinline__ void load_b_nk_deep(TileB<T> (&tiles)[2], const LaneView<T>& lanes,
                                               int row, int col) {
  ldmatrix_x4<false>(tiles[0].r[0], tiles[0].r[1], tiles[1].r[0], tiles[1].r[1],
                     lanes.at(row, col));
}
template <class T>
__device__ __forceinline__ void load_b_kn(TileB<T> (&tiles)[2], const LaneView<T>& lanes, int row,
                                          int col) {
  ldmatrix_x4<true>(tiles[0].r[0], tiles[0].r[1], tiles[1].r[0], tiles[1].r[1],
                    lanes.at(row, col));
}

// c += a * b
template <class T>
__device__ __forceinline__ void mma(TileC& c, const TileA<T>& a, const TileB<T>& b) {
  mma_m16n8k16<T>(c.r, a.r, b.r);
}

// Two accumulators side by side (columns 0..7 and 8..15) as the A of the next product, rounded to
// T: the layouts agree, so P of attention stays in registers.
template <class T>
__device__ __forceinline__ TileA<T> as_a(const TileC& left, const TileC& right) {
  return {{pack2<T>(left.r[0], left.r[1]), pack2<T>(left.r[2], left.r[3]),
           pack2<T>(right.r[0], right.r[1]), pack2<T>(right.r[2], right.r[3])}};
}

}  // namespace headway::kernels
