#include "kernels/ops/w8_gemm.cuh"

namespace headway::kernels {

void add_w8_gemm(std::vector<KernelEntry>& table) { register_w8_gemm(table); }

}  // namespace headway::kernels
