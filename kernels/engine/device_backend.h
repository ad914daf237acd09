#pragma once

#include <memory>

#include "kernels/engine/backend.h"

namespace headway::kernels {

// The engine on the GPU kernels. bf16 weights, activations and KV; products by cuBLASLt on a GPU.
// Steps are queued on the default stream; finish() waits.
//
// make_cuda_backend: on the current GPU; weights are made on the device, so they are not those of
// other backends. Throws CudaError, or std::runtime_error where cuBLASLt is not found.
std::unique_ptr<EngineBackend> make_cuda_backend(const LlamaShape& shape, std::uint64_t seed,
                                                 const BackendOptions& options);
// make_emulated_backend: the same kernels under the emulator, products by plain loops, the weights
// of make_cpu_weights. For tests.
std::unique_ptr<EngineBackend> make_emulated_backend(const LlamaShape& shape, std::uint64_t seed,
                                                     const BackendOptions& options);

}  // namespace headway::kernels
