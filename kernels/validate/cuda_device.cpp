// Validation on a GPU: the engine's CUDA backend, the profiler's, and a check of tokens that allows
// for bf16.
#include <map>

#include "kernels/engine/decoder.h"
#include "kernels/engine/device_backend.h"
#include "kernels/profiler/cuda_backend.h"
#include "kernels/validate/device.h"
#include "kernels/validate/forced_check.h"

namespace headway::kernels {
namespace {

class CudaDevice final : public ValidationDevice {
 public:
  CudaDevice(const LlamaShape& shape, std::uint64_t seed)
      : shape_(shape), seed_(seed), profiler_(make_cuda_backend()), kernels_(cuda_kernels()) {}

  std::string describe() const override { return profiler_->device().name; }

  std::unique_ptr<EngineBackend> make_engine(const BackendOptions& options) override {
    return make_cuda_backend(shape_, seed_, options);
  }
  const std::vector<KernelEntry>& kernels() const override { return kernels_; }
  Backend& profiler() override { return *profiler_; }

  TokenCheck check_tokens(const std::vector<Conversation>& conversations, EngineBackend& engine,
                          std::int32_t page_size) override {
    return check_forced(conversations, engine, page_size);
  }

 private:
  LlamaShape shape_;
  std::uint64_t seed_;
  std::unique_ptr<Backend> profiler_;
  std::vector<KernelEntry> kernels_;
};

}  // namespace

std::unique_ptr<ValidationDevice> make_cuda_device(const LlamaShape& shape, std::uint64_t seed,
                                                   double) {
  return std::make_unique<CudaDevice>(shape, seed);
}

}  // namespace headway::kernels
