#include "kernels/ops/silu_mul.cuh"
