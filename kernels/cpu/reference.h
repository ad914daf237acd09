#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/bf16.h"

// The operators again, in double, one number at a time, over plain row-major arrays.
namespace headway::kernels::cpu::reference {

using Doubles = std::vector<double>;

Doubles matmul(std::span<const float> x, std::span<const Bf16> w, std::int64_t m, std::int64_t n,
               std::int64_t k);
// `residual` (may be empty) gets x added.
Doubles rmsnorm(std::span<const float> x, Doubles& residual, std::span<const Bf16> weight,
                std::int64_t rows, std::int64_t width, double epsilon);
// x: [rows][heads][head_dim].
Doubles rope(std::span<const float> x, std::span<const std::int32_t> positions, std::int64_t heads,
             std::int64_t head_dim, double theta);
Doubles silu_mul(std::span<const float> gate_up, std::int64_t rows, std::int64_t width);
// One sequence: queries [count][heads][dim] at positions context .. over keys and values
// [context + count][kv_heads][dim], causal.
Doubles attention(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                  std::int64_t count, std::int64_t context, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t dim, double scale);

// Largest difference, relative to the reference's largest magnitude. NaN where a value is one.
double relative_error(std::span<const float> got, std::span<const double> expected);

}  // namespace headway::kernels::cpu::reference
