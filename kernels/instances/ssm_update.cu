#include "kernels/ops/ssm_update.cuh"

namespace headway::kernels {

void add_ssm_update(std::vector<KernelEntry>& table) { register_ssm_update(table); }

}  // namespace headway::kernels
