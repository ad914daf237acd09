#pragma once

// W8A16 GEMM: y[m][n] = x[m][k] * W[n][k]^T with 8-bit weights, for few tokens (1..64; up to 512 in
// slabs).
//
//   W[n][k] = (byte - 128) * scale[n]     symmetric int8, stored with an offset; one scale (T) per
//   row x, y, scales: T, bf16 or f16; sums in f32.
//
// This is weight-only (W8A16): activations stay in 16 bits. There is no W8A8 kernel here; it would
// need the activations quantised first, and pays only where the product is bound by compute.
//
// Version: kernels/ops/weight_only_gemm.cuh. Two 32-bit words hold one lane's eight weights of a
// 16x16 A tile. f16: a byte under the exponent of 1024 is 1024 + byte, so one byte permute makes
// two numbers. bf16 has too few bits for that: the byte goes under the exponent of 2^23 in f32, and
// a pair is rounded (exactly) to bf16.
//
// Bytes: n * k + 2 * n + 2 * m * (k + n). FLOPs: 2 * m * n * k.
// Memory-bound up to some hundred tokens.

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/ops/weight_only_check.h"
#include "kernels/ops/weight_only_gemm.cuh"

namespace headway::kernels {

struct Int8Row {
  static constexpr int kBits = 8;
  static constexpr int kUnitK = 64;
  static constexpr bool kGrouped = false;
  static constexpr int kOffset = 128;

  // Offline: the word of a lane's eight in a unit, and the shift in it.
  static std::pair<int, int> bits_of(const weight_only::Place& p) {
    return {2 * p.tile + p.reg / 2, 16 * (p.reg % 2) + 8 * p.half};
  }
  template <class T>
  static __device__ __forceinline__ void unpack(const Pack16<std::uint32_t>& words,
                                                TileA<T> (&a)[2]) {
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int r = 0; r < 4; ++r) a[s].r[r] = pair<T>(words.v[s * 2 + r / 2], r % 2 * 2);
  }

 private:
  // Bytes `at` and `at` + 1 of a word, less the offset.
  template <class T>
  static __device__ __forceinline__ std::uint32_t pair(std::uint32_t word, int at) {
    if constexpr (std::is_same_v<T, f16>) {
      const std::uint32_t biased = __byte_perm(word, 0x64646464u, at == 0 ? 0x4140u : 0x4342u);
      return fma2<f16>(biased, 0x3c003c00u, 0xe480e480u);  // minus 1024 + 128
    } else {
      const auto one = [&](unsigned byte) {
        return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440u | byte)) -
               8388736.0f;  // 2^23 + 128
      };
      return pack2<bf16>(one(static_cast<unsigned>(at)), one(static_cast<unsigned>(at) + 1));
    }
  }
};

inline void register_w8_gemm(std::vector<KernelEntry>& table) {
  table.push_back(weight_only_entry<bf16, Int8Row>("w8_gemm", "int8"));
  table.push_back(weight_only_entry<f16, Int8Row>("w8_gemm", "int8"));
}

}  // namespace headway::kernels
