#include "kernels/ops/paged_decode_attention_check.cuh"

namespace headway::kernels {

void add_paged_decode_attention(std::vector<KernelEntry>& table) {
  register_paged_decode_attention(table);
}

}  // namespace headway::kernels
