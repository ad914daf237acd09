#include "kernels/ops/kv_write.cuh"
