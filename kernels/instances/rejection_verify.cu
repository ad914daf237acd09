#include "kernels/ops/rejection_verify.cuh"

namespace headway::kernels {

void add_rejection_verify(std::vector<KernelEntry>& table) { register_rejection_verify(table); }

}  // namespace headway::kernels
