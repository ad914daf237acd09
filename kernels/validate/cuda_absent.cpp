// A build without nvcc: there is no CUDA device to validate on.
#include "kernels/validate/device.h"
#include "sim/core/errors.h"

namespace headway::kernels {

std::unique_ptr<ValidationDevice> make_cuda_device(const LlamaShape&, std::uint64_t, double) {
  throw InputError({"command line", "--device", "cuda, which this program was built without",
                    "cpu, or a build on a machine with nvcc"});
}

}  // namespace headway::kernels
