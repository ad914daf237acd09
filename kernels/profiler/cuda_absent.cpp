// Linked where there is no CUDA compiler.
#include "kernels/profiler/cuda_backend.h"
#include "sim/core/errors.h"

namespace headway::kernels {
namespace {

[[noreturn]] void refuse() {
  throw InputError({"command line", "--device", "\"cuda\" in a build without CUDA",
                    "\"cpu\", or a build where nvcc was found"});
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() { refuse(); }
std::vector<KernelEntry> cuda_kernels() { refuse(); }

}  // namespace headway::kernels
