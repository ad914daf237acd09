#pragma once

#include "kernels/rt/rt.h"

namespace headway::kernels {

// What a launcher asks of the device before it cuts up the work.
struct DeviceLimits {
  int multiprocessors = 2;  // the emulator's: few, so that small tests split as large runs do
  int smem_per_block = 227 * 1024;  // dynamic shared memory that one block may have
};

inline DeviceLimits device_limits() {
  DeviceLimits limits;
#ifdef __CUDACC__
  int device = 0;
  HEADWAY_CUDA_CHECK(cudaGetDevice(&device));
  HEADWAY_CUDA_CHECK(
      cudaDeviceGetAttribute(&limits.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  HEADWAY_CUDA_CHECK(cudaDeviceGetAttribute(&limits.smem_per_block,
                                            cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
#endif
  return limits;
}

}  // namespace headway::kernels
