#include <cuda_runtime_api.h>

#include "kernels/tests/runtime.h"

namespace headway::kernels::tests {

std::vector<Way> ways(std::uint64_t /*seed*/) { return {{"cuda", [] {}}}; }

// Without a driver the runtime says "insufficient driver", with one and no device "no device".
std::string missing_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return cudaGetErrorString(code);
  return count == 0 ? "no CUDA device" : "";
}

}  // namespace headway::kernels::tests
