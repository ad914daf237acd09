#pragma once

// The number formats that kernels store: bf16, f16 and fp8 (e4m3, the "fn" variant: no infinity,
// largest value 448). Plain structs of bits, the same in host code, in the emulator and on the GPU,
// so no CUDA header is needed to hold one. Conversions round to nearest, ties to even; to fp8 they
// saturate, as the hardware's do.

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define HEADWAY_HD __host__ __device__ __forceinline__
#else
#define HEADWAY_HD inline
#endif

namespace headway::kernels {

struct bf16 {
  std::uint16_t bits;
};
struct f16 {
  std::uint16_t bits;
};
struct fp8 {
  std::uint8_t bits;
};

// As the simulator calls them (sim/core/dtype.h).
template <class T>
inline constexpr const char* kTypeName = "?";
template <>
inline constexpr const char* kTypeName<float> = "fp32";
template <>
inline constexpr const char* kTypeName<bf16> = "bf16";
template <>
inline constexpr const char* kTypeName<f16> = "fp16";
template <>
inline constexpr const char* kTypeName<fp8> = "fp8";

namespace number_types {

HEADWAY_HD float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

HEADWAY_HD std::uint32_t bits_of(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}

HEADWAY_HD bool is_nan(std::uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

HEADWAY_HD std::uint16_t bf16_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  if (is_nan(bits)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

HEADWAY_HD std::uint16_t f16_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (is_nan(bits)) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520: inf
  if (magnitude < 0x38800000u) {  // subnormal: let one addition align and round it
    const float aligned = float_of(magnitude) + float_of(0x3f000000u);
    return static_cast<std::uint16_t>(sign | (bits_of(aligned) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

HEADWAY_HD float f16_value(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // The exponent's bias is corrected by a multiplication, which also takes subnormals right.
  const float scaled = float_of(magnitude << 13) * float_of(0x77800000u);  // 2^112
  return float_of(sign | bits_of(scaled));
}

HEADWAY_HD std::uint8_t fp8_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (is_nan(bits)) return static_cast<std::uint8_t>(sign | 0x7fu);
  if (magnitude >= 0x43e80000u) return static_cast<std::uint8_t>(sign | 0x7eu);  // >= 464: 448
  if (magnitude < 0x3c800000u) {  // below 2^-6: subnormal, steps of 2^-9
    const float aligned = float_of(magnitude) + float_of(0x46800000u);  // 2^14, step 2^-9
    return static_cast<std::uint8_t>(sign | (bits_of(aligned) - 0x46800000u));
  }
  const std::uint32_t rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u) - 0x3c000000u;
  return static_cast<std::uint8_t>(sign | (rounded >> 20));
}

HEADWAY_HD float fp8_value(std::uint8_t bits) {
  const std::uint32_t sign = (bits & 0x80u) << 24;
  const std::uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7fu) return float_of(sign | 0x7fc00000u);
  const float scaled = float_of(magnitude << 20) * float_of(0x7b800000u);  // 2^120
  return float_of(sign | bits_of(scaled));
}

}  // namespace number_types

HEADWAY_HD float to_f(float value) { return value; }
HEADWAY_HD float to_f(bf16 value) {
  return number_types::float_of(static_cast<std::uint32_t>(value.bits) << 16);
}
HEADWAY_HD float to_f(f16 value) {
#ifdef __CUDA_ARCH__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  return number_types::f16_value(value.bits);
#endif
}
HEADWAY_HD float to_f(fp8 value) { return number_types::fp8_value(value.bits); }

template <class T>
HEADWAY_HD T from_f(float value);
template <>
HEADWAY_HD float from_f<float>(float value) {
  return value;
}
template <>
HEADWAY_HD bf16 from_f<bf16>(float value) {
#ifdef __CUDA_ARCH__
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return {bits};
#else
  return {number_types::bf16_bits(value)};
#endif
}
template <>
HEADWAY_HD f16 from_f<f16>(float value) {
#ifdef __CUDA_ARCH__
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return {bits};
#else
  return {number_types::f16_bits(value)};
#endif
}
template <>
HEADWAY_HD fp8 from_f<fp8>(float value) {
  return {number_types::fp8_bits(value)};
}

// Two 16-bit numbers in one register, the first in the low half: what mma and ldmatrix hold.
template <class T>
HEADWAY_HD std::uint32_t pack2(float low, float high) {
  return static_cast<std::uint32_t>(from_f<T>(low).bits) |
         static_cast<std::uint32_t>(from_f<T>(high).bits) << 16;
}
#ifdef __CUDACC__
template <>
HEADWAY_HD std::uint32_t pack2<bf16>(float low, float high) {
#ifdef __CUDA_ARCH__
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return static_cast<std::uint32_t>(number_types::bf16_bits(low)) |
         static_cast<std::uint32_t>(number_types::bf16_bits(high)) << 16;
#endif
}
template <>
HEADWAY_HD std::uint32_t pack2<f16>(float low, float high) {
#ifdef __CUDA_ARCH__
  std::uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return static_cast<std::uint32_t>(number_types::f16_bits(low)) |
         static_cast<std::uint32_t>(number_types::f16_bits(high)) << 16;
#endif
}
#endif

template <class T>
HEADWAY_HD float low_f(std::uint32_t pair) {
  return to_f(T{static_cast<std::uint16_t>(pair & 0xffffu)});
}
template <class T>
HEADWAY_HD float high_f(std::uint32_t pair) {
  return to_f(T{static_cast<std::uint16_t>(pair >> 16)});
}

}  // namespace headway::kernels
