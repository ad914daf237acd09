#include "kernels/ops/rope.cuh"
