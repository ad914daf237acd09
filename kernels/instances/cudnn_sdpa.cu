#include "kernels/providers/cudnn_entries.cuh"

namespace headway::kernels {

void add_cudnn_sdpa(std::vector<KernelEntry>& table) { register_cudnn_sdpa(table); }

}  // namespace headway::kernels
