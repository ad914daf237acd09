#include "kernels/ops/gdn_update.cuh"

namespace headway::kernels {

void add_gdn_update(std::vector<KernelEntry>& table) { register_gdn_update(table); }

}  // namespace headway::kernels
