#include "kernels/ops/rmsnorm.cuh"
