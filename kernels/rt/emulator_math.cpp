// What ldmatrix and mma.sync do to the registers of a warp, as the PTX ISA lays them out
// ("Warp-level matrix load instruction", "Matrix fragments for mma.m16n8k16").

#include <cstring>

#include "kernels/rt/emulator_block.h"

namespace headway::kernels::emu {
namespace {

std::uint16_t half_of(std::uint32_t pair, int which) {
  return static_cast<std::uint16_t>(pair >> (16 * which));
}

// Matrix m has its rows at lanes 8m .. 8m+7. Register m of lane l: row l/4, columns 2(l%4) and the
// next; transposed: rows 2(l%4) and the next, column l/4.
template <bool kTranspose>
void complete_ldmatrix(void* const* operands, std::uint32_t) {
  const auto row = [&](int matrix, int r) {
    return static_cast<const LdmatrixLane*>(operands[8 * matrix + r])->row;
  };
  for (int lane = 0; lane < 32; ++lane) {
    auto* result = static_cast<LdmatrixLane*>(operands[lane])->result;
    const int outer = lane / 4;
    const int inner = 2 * (lane % 4);
    for (int m = 0; m < 4; ++m) {
      const std::uint32_t low = kTranspose ? row(m, inner)[outer] : row(m, outer)[inner];
      const std::uint32_t high = kTranspose ? row(m, inner + 1)[outer] : row(m, outer)[inner + 1];
      result[m] = low | high << 16;
    }
  }
}

// The hardware keeps products exact and adds them in an order of its own; here they are added in
// f32 along k.
template <class T>
void complete_mma(void* const* operands, std::uint32_t) {
  float a[16][16];
  float b[16][8];
  float c[16][8];
  const auto lane_of = [&](int lane) { return static_cast<MmaLane*>(operands[lane]); };
  for (int lane = 0; lane < 32; ++lane) {
    const MmaLane& from = *lane_of(lane);
    const int outer = lane / 4;
    const int inner = 2 * (lane % 4);
    for (int half = 0; half < 2; ++half) {
      for (int r = 0; r < 4; ++r) {  // rows +8 in registers 1 and 3, columns +8 in 2 and 3
        a[outer + 8 * (r % 2)][inner + 8 * (r / 2) + half] = to_f(T{half_of(from.a[r], half)});
      }
      for (int r = 0; r < 2; ++r) {
        b[inner + 8 * r + half][outer] = to_f(T{half_of(from.b[r], half)});
        c[outer + 8 * r][inner + half] = from.c[2 * r + half];
      }
    }
  }
  for (int m = 0; m < 16; ++m) {
    for (int k = 0; k < 16; ++k) {
      for (int n = 0; n < 8; ++n) c[m][n] += a[m][k] * b[k][n];
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      lane_of(lane)->c[i] = c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
    }
  }
}

}  // namespace

void ldmatrix(LdmatrixLane& lane, bool transpose) {
  current_block().warp_collective(
      "ldmatrix", transpose ? &complete_ldmatrix<true> : &complete_ldmatrix<false>, &lane);
}

template <class T>
void mma(MmaLane& lane) {
  current_block().warp_collective("mma.sync", &complete_mma<T>, &lane);
}
template void mma<bf16>(MmaLane&);
template void mma<f16>(MmaLane&);

}  // namespace headway::kernels::emu
