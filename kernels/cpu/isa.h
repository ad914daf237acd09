#pragma once

#include "kernels/cpu/cpu_ops.h"

namespace headway::kernels::cpu {

// nullptr where this build has no such code. The caller asks the machine first.
const CpuOps* avx2_ops();

}  // namespace headway::kernels::cpu
