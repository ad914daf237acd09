#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_ops.h"

namespace headway::kernels::cpu {

// OpenBLAS, where the machine has it (libopenblas.so.0, found at run time): the second provider of
// products, on one thread. It wants floats, so weights are widened into a buffer a block of outputs
// at a time.

// The core it is tuned for ("Zen", "Haswell", ...); "" where it is not found.
std::string openblas_core();

// y[m][n] = x[m][k] W^T. REQUIRES: openblas_core() is not "".
void openblas_matmul(const float* x, std::int64_t x_stride, const PackedWeights& w, float* y,
                     std::int64_t y_stride, std::int64_t m, std::vector<float>& scratch);

// Largest error of one product against a plain loop, relative to the largest entry: old versions
// miscompute on some newer machines. REQUIRES: openblas_core() is not "".
double openblas_error();

}  // namespace headway::kernels::cpu
