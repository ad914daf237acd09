#include "kernels/registry.h"

namespace headway::kernels {

// A library of the GPU's: nothing to emulate.
void add_cublaslt_gemm(std::vector<KernelEntry>& /*table*/) {}

}  // namespace headway::kernels
