#pragma once

#include <memory>

#include "kernels/cpu/cpu_ops.h"
#include "kernels/engine/backend.h"

namespace headway::kernels {

// A model's weights for the CPU's operators.
struct CpuWeights {
  LlamaShape shape;
  std::vector<cpu::Bf16> embedding;          // [vocab][hidden]
  std::vector<cpu::Bf16> norms;              // [2 layers + 1][hidden]
  std::vector<cpu::PackedWeights> products;  // [layer][kLayerProducts]
  cpu::PackedWeights lm_head;
  std::vector<float> rope;

  const cpu::PackedWeights& of(std::int32_t layer, Product product) const {
    return products[static_cast<std::size_t>(layer) * kLayerProducts + static_cast<int>(product)];
  }
  const cpu::Bf16* norm(
      std::int32_t index) const {  // 2 layer, 2 layer + 1; 2 layers: the final one
    return norms.data() + static_cast<std::size_t>(index) * static_cast<std::size_t>(shape.hidden);
  }
  double bytes() const;  // of the products
};
std::shared_ptr<const CpuWeights> make_cpu_weights(const LlamaShape& shape, std::uint64_t seed);

// One thread. page_size a multiple of 16.
std::unique_ptr<EngineBackend> make_cpu_backend(std::shared_ptr<const CpuWeights> weights,
                                                const BackendOptions& options);

}  // namespace headway::kernels
