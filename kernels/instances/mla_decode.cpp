#include "kernels/ops/mla_decode_check.cuh"

namespace headway::kernels {

void add_mla_decode(std::vector<KernelEntry>& table) { register_mla_decode(table); }

}  // namespace headway::kernels
