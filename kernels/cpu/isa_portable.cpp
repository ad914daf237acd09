// The operators in plain C++, for any machine.
#include "kernels/cpu/cpu_ops.h"

#define HEADWAY_CPU_ISA portable
#define HEADWAY_CPU_AVX2 0
#include "kernels/cpu/attention_body.h"
#include "kernels/cpu/elementwise_body.h"
#include "kernels/cpu/matmul_body.h"

namespace headway::kernels::cpu {

const CpuOps& portable_ops() {
  using namespace portable;
  static constexpr CpuOps kOps{"portable", matmul,    rmsnorm, rope,  silu_mul,
                               kv_write,   attention, embed,   argmax};
  return kOps;
}

}  // namespace headway::kernels::cpu
