#include "kernels/ops/w4a16_gemm.cuh"

namespace headway::kernels {

void add_w4a16_gemm(std::vector<KernelEntry>& table) { register_w4a16_gemm(table); }

}  // namespace headway::kernels
