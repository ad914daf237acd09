#pragma once

// Eight floats at once, for the bodies in this folder: AVX2 and FMA where the including file was
// compiled for them, plain loops elsewhere. Included only by isa_avx2.cpp and isa_portable.cpp, each
// of which defines HEADWAY_CPU_ISA (the namespace, so that no inline function of one is ever taken
// for the other's) and HEADWAY_CPU_AVX2 (0 or 1).
#include <cstdint>
#include <cstring>

#if HEADWAY_CPU_AVX2
#include <immintrin.h>
#endif

#include "kernels/cpu/bf16.h"

namespace headway::kernels::cpu::HEADWAY_CPU_ISA {

inline constexpr int kLanes = 8;

#if HEADWAY_CPU_AVX2

struct Lanes {
  __m256 v;
};
inline Lanes splat(float x) { return {_mm256_set1_ps(x)}; }
inline Lanes load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void store(float* p, Lanes a) { _mm256_storeu_ps(p, a.v); }
inline Lanes load(const Bf16* p) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16))};
}
inline Lanes operator+(Lanes a, Lanes b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Lanes operator*(Lanes a, Lanes b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Lanes operator/(Lanes a, Lanes b) { return {_mm256_div_ps(a.v, b.v)}; }
inline Lanes larger(Lanes a, Lanes b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Lanes smaller(Lanes a, Lanes b) { return {_mm256_min_ps(a.v, b.v)}; }
// a * b + c
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Lanes nearest(Lanes a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// 2^a for whole a from -126 to 127.
inline Lanes power_of_two(Lanes a) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(a.v), _mm256_set1_epi32(127));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23))};
}

#else

// Two vectors of four, which every 64-bit machine of the day has.
using Four = float __attribute__((vector_size(16)));
using FourInts = std::int32_t __attribute__((vector_size(16)));
struct Lanes {
  Four low, high;
};
inline Lanes splat(float x) {
  const Four four{x, x, x, x};
  return {four, four};
}
inline Lanes load(const float* p) {
  Lanes r;
  std::memcpy(&r.low, p, sizeof r.low);
  std::memcpy(&r.high, p + 4, sizeof r.high);
  return r;
}
inline void store(float* p, Lanes a) {
  std::memcpy(p, &a.low, sizeof a.low);
  std::memcpy(p + 4, &a.high, sizeof a.high);
}
inline Lanes load(const Bf16* p) {
  return {Four{widen(p[0]), widen(p[1]), widen(p[2]), widen(p[3])},
          Four{widen(p[4]), widen(p[5]), widen(p[6]), widen(p[7])}};
}
inline Lanes operator+(Lanes a, Lanes b) { return {a.low + b.low, a.high + b.high}; }
inline Lanes operator*(Lanes a, Lanes b) { return {a.low * b.low, a.high * b.high}; }
inline Lanes operator/(Lanes a, Lanes b) { return {a.low / b.low, a.high / b.high}; }
inline Lanes larger(Lanes a, Lanes b) {
  return {a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}
inline Lanes smaller(Lanes a, Lanes b) {
  return {a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {a.low * b.low + c.low, a.high * b.high + c.high};
}
inline FourInts whole(Four a) {
  // To the nearest: conversion cuts off, so half a unit is added away from 0 first.
  const Four half = a < Four{0, 0, 0, 0} ? Four{-.5F, -.5F, -.5F, -.5F} : Four{.5F, .5F, .5F, .5F};
  return __builtin_convertvector(a + half, FourInts);
}
// REQUIRES: |a| < 2^22.
inline Lanes nearest(Lanes a) {
  return {__builtin_convertvector(whole(a.low), Four), __builtin_convertvector(whole(a.high), Four)};
}
// 2^a for whole a from -126 to 127.
inline Lanes power_of_two(Lanes a) {
  const FourInts low = (whole(a.low) + 127) << 23, high = (whole(a.high) + 127) << 23;
  Lanes r;
  std::memcpy(&r.low, &low, sizeof low);
  std::memcpy(&r.high, &high, sizeof high);
  return r;
}

#endif

inline float sum(Lanes a) {
  float v[kLanes];
  store(v, a);
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
inline float largest(Lanes a) {
  float v[kLanes];
  store(v, a);
  float best = v[0];
  for (int i = 1; i < kLanes; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

// e^x within 2 units in the last place, 0 below -87 (Cephes' expf: split off a power of two, then a
// polynomial on +-ln2/2). REQUIRES: x <= 88.
inline Lanes exponential(Lanes x) {
  const Lanes low = splat(-87.0F);
  const Lanes clamped = larger(x, low);
  const Lanes n = nearest(clamped * splat(1.44269504088896341F));
  Lanes r = fma(n, splat(-0.693359375F), clamped);
  r = fma(n, splat(2.12194440e-4F), r);
  Lanes p = splat(1.9875691500e-4F);
  p = fma(p, r, splat(1.3981999507e-3F));
  p = fma(p, r, splat(8.3334519073e-3F));
  p = fma(p, r, splat(4.1665795894e-2F));
  p = fma(p, r, splat(1.6666665459e-1F));
  p = fma(p, r, splat(5.0000001201e-1F));
  p = fma(p, r * r, r + splat(1.0F));
#if HEADWAY_CPU_AVX2
  const __m256 keep = _mm256_cmp_ps(x.v, low.v, _CMP_GE_OQ);
  return {_mm256_and_ps((p * power_of_two(n)).v, keep)};
#else
  const Lanes e = p * power_of_two(n), none = splat(0);
  return {x.low >= low.low ? e.low : none.low, x.high >= low.high ? e.high : none.high};
#endif
}

}  // namespace headway::kernels::cpu::HEADWAY_CPU_ISA
