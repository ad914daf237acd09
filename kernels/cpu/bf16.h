#pragma once

#include <bit>
#include <cstdint>

namespace headway::kernels::cpu {

// The upper half of a float: what the CPU kernels store weights and KV in. They widen it by a shift
// and compute in float.
using Bf16 = std::uint16_t;

constexpr float widen(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

// Round to nearest, ties to even. REQUIRES: not a NaN.
constexpr Bf16 narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<Bf16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace headway::kernels::cpu
