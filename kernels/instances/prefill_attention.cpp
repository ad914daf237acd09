#include "kernels/ops/prefill_attention_check.cuh"

namespace headway::kernels {

void add_prefill_attention(std::vector<KernelEntry>& table) { register_prefill_attention(table); }

}  // namespace headway::kernels
