#include "kernels/ops/sampling_check.h"

namespace headway::kernels {

void add_sampling(std::vector<KernelEntry>& table) { register_sampling(table); }

}  // namespace headway::kernels
