#include "kernels/registry.h"

namespace headway::kernels {

// A library of the GPU's: nothing to emulate.
void add_cudnn_sdpa(std::vector<KernelEntry>& /*table*/) {}

}  // namespace headway::kernels
