#pragma once

#include <memory>
#include <vector>

#include "kernels/profiler/backend.h"

namespace headway::kernels {

// The first GPU. InputError without one (no driver, or a driver and no device), and in a build
// without CUDA.
std::unique_ptr<Backend> make_cuda_backend();

// The GPU kernels of this build; InputError in a build without CUDA.
std::vector<KernelEntry> cuda_kernels();

}  // namespace headway::kernels
