// The operators for x86-64 with AVX2 and FMA. The pragma makes all functions below it, and nothing
// else, use those instructions; standard headers come before it, so that no inline function of
// theirs is compiled for a machine that may not be there.
#include "kernels/cpu/cpu_ops.h"
#include "kernels/cpu/isa.h"

#if defined(__x86_64__)

#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <span>
#include <vector>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define HEADWAY_CPU_ISA avx2
#define HEADWAY_CPU_AVX2 1
#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/elementwise_body.h"
#include "kernels/cpu/matmul_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace headway::kernels::cpu {

const CpuOps* avx2_ops() {
  using namespace avx2;
  static constexpr CpuOps kOps{"avx2+fma", matmul,    rmsnorm, rope,  silu_mul,
                               kv_write,   attention, embed,   argmax};
  return &kOps;
}

}  // namespace headway::kernels::cpu

#else

namespace headway::kernels::cpu {
const CpuOps* avx2_ops() { return nullptr; }
}  // namespace headway::kernels::cpu

#endif
