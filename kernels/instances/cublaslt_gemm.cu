#include "kernels/providers/cublaslt_entries.cuh"

namespace headway::kernels {

void add_cublaslt_gemm(std::vector<KernelEntry>& table) { register_cublaslt_gemm(table); }

}  // namespace headway::kernels
