#include "kernels/cpu/cpu_ops.h"

#include <cmath>

#include "kernels/cpu/isa.h"

namespace headway::kernels::cpu {
namespace {

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

}  // namespace

const CpuOps& cpu_ops() {
  static const CpuOps& best = avx2_ops() != nullptr && has_avx2() ? *avx2_ops() : portable_ops();
  return best;
}

PackedWeights pack_weights(std::span<const Bf16> rows, std::int64_t n, std::int64_t k) {
  PackedWeights packed{n, k, {}};
  const std::int64_t panels = (n + kPanel - 1) / kPanel;
  packed.panels.assign(static_cast<std::size_t>(panels * k * kPanel), 0);
  for (std::int64_t row = 0; row < n; ++row) {
    Bf16* to = packed.panels.data() + row / kPanel * k * kPanel + row % kPanel;
    const Bf16* from = rows.data() + row * k;
    for (std::int64_t i = 0; i < k; ++i) to[i * kPanel] = from[i];
  }
  return packed;
}

std::vector<float> rope_table(std::int32_t positions, std::int32_t head_dim, double theta) {
  const std::int32_t half = head_dim / 2;
  std::vector<float> table(static_cast<std::size_t>(positions) * head_dim);
  for (std::int32_t p = 0; p < positions; ++p) {
    float* row = table.data() + static_cast<std::size_t>(p) * head_dim;
    for (std::int32_t i = 0; i < half; ++i) {
      const double angle = p * std::pow(theta, -2.0 * i / head_dim);
      row[i] = static_cast<float>(std::cos(angle));
      row[half + i] = static_cast<float>(std::sin(angle));
    }
  }
  return table;
}

}  // namespace headway::kernels::cpu
