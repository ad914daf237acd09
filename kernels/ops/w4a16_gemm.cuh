#pragma once

// W4A16 GEMM: y[m][n] = x[m][k] * W[n][k]^T with 4-bit weights, for few tokens (1..64; up to 512 in
// slabs).
//
//   W[n][k] = (nibble - 8) * scale[n][k / 128]      symmetric, one scale (T) per row and 128
//   columns,
//                                                   as GPTQ and AWQ checkpoints store it
//                                                   ("uint4b8")
//   x, y, scales: T, bf16 or f16; sums in f32.
//
// Version: kernels/ops/weight_only_gemm.cuh. A 32-bit word holds one lane's eight weights of a
// 16x16 A tile; nibble p and nibble p + 4 are the halves of register p, so each register costs one
// lop3 (which also sets the exponent bits that make the nibble a number) and one fused multiply-add
// that takes the offset away. The idea of an offline shuffle for such a dequantisation: Frantar et
// al., "MARLIN" (2024).
//
// Bytes: n * k / 2 + n * k / 64 (scales) + 2 * m * (k + n). FLOPs: 2 * m * n * k.
// Memory-bound up to several tens of tokens.

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/ops/weight_only_check.h"
#include "kernels/ops/weight_only_gemm.cuh"

namespace headway::kernels {

struct Int4Group128 {
  static constexpr int kBits = 4;
  static constexpr int kUnitK = 128;  // a unit is one group
  static constexpr bool kGrouped = true;
  static constexpr int kOffset = 8;

  // Offline: the word of a lane's eight in a unit, and the shift in it.
  static std::pair<int, int> bits_of(const weight_only::Place& p) {
    return {p.tile, 4 * p.reg + 16 * p.half};
  }
  template <class T>
  static __device__ __forceinline__ void unpack(const Pack16<std::uint32_t>& words,
                                                TileA<T> (&a)[4]) {
#pragma unroll
    for (int s = 0; s < 4; ++s) unpack_word(words.v[s], a[s]);
  }

 private:
  static constexpr int kAndOr = (0xf0 & 0xcc) | 0xaa;  // lop3: (a & b) | c
  // 0x4300 | q is 128 + q in bf16: minus 136.
  static __device__ __forceinline__ void unpack_word(std::uint32_t word, TileA<bf16>& a) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
      a.r[r] = fma2<bf16>(lop3<kAndOr>(word >> (4 * r), 0x000f000fu, 0x43004300u), 0x3f803f80u,
                          0xc308c308u);
  }
  // 0x6400 | q is 1024 + q in f16: minus 1032. A nibble further left counts 16 times: / 16,
  // minus 72.
  static __device__ __forceinline__ void unpack_word(std::uint32_t word, TileA<f16>& a) {
#pragma unroll
    for (int r = 0; r < 4; r += 2) {
      const std::uint32_t w = word >> (4 * r);
      a.r[r] = fma2<f16>(lop3<kAndOr>(w, 0x000f000fu, 0x64006400u), 0x3c003c00u, 0xe408e408u);
      a.r[r + 1] = fma2<f16>(lop3<kAndOr>(w, 0x00f000f0u, 0x64006400u), 0x2c002c00u, 0xd480d480u);
    }
  }
};

inline void register_w4a16_gemm(std::vector<KernelEntry>& table) {
  table.push_back(weight_only_entry<bf16, Int4Group128>("w4a16_gemm", "int4"));
  table.push_back(weight_only_entry<f16, Int4Group128>("w4a16_gemm", "int4"));
}

}  // namespace headway::kernels
