#include <map>
#include <tuple>

#include "kernels/engine/device_backend.cuh"
#include "kernels/engine/device_backend.h"
#include "kernels/ops/fill.cuh"
#include "kernels/providers/cublaslt_gemm.h"

namespace headway::kernels {
namespace {

class CudaServices final : public DeviceServices {
 public:
  CudaServices() : workspace_(CublasLtGemm::kWorkspaceBytes) {
    const std::string why = CublasLtGemm::why_not();
    if (!why.empty()) throw std::runtime_error(why);
    int device = 0;
    HEADWAY_CUDA_CHECK(cudaGetDevice(&device));
    HEADWAY_CUDA_CHECK(cudaGetDeviceProperties(&properties_, device));
  }
  std::string describe() const override { return properties_.name; }

  void fill(DeviceBuffer<bf16>& buffer, std::uint64_t seed, float mean, float deviation) override {
    fill_normal(buffer.data(), buffer.size(), static_cast<std::uint32_t>(seed ^ (seed >> 32)), mean,
                deviation);
    device_synchronize();
  }

  // Each size asks the heuristics once, the first time it occurs.
  void product(std::int64_t m, std::int64_t n, std::int64_t k, const bf16* x, const bf16* w,
               bf16* y, Stream stream) override {
    const std::tuple key{m, n, k};
    auto it = gemms_.find(key);
    if (it == gemms_.end()) {
      CublasLtGemm gemm(GemmFormat::kBf16, static_cast<int>(m), static_cast<int>(n),
                        static_cast<int>(k));
      gemm.choose_algorithm(nullptr, nullptr);
      it = gemms_.emplace(key, std::move(gemm)).first;
    }
    it->second.run(x, w, nullptr, nullptr, y, workspace_.data(), stream.handle);
  }

 private:
  cudaDeviceProp properties_{};
  DeviceBuffer<std::uint8_t> workspace_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, CublasLtGemm> gemms_;
};

}  // namespace

std::unique_ptr<EngineBackend> make_cuda_backend(const LlamaShape& shape, std::uint64_t seed,
                                                 const BackendOptions& options) {
  return std::make_unique<DeviceBackend>(shape, seed, options, std::make_unique<CudaServices>());
}

}  // namespace headway::kernels
