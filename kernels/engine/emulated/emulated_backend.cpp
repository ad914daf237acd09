#include "kernels/cpu/random_data.h"
#include "kernels/engine/device_backend.cuh"
#include "kernels/engine/device_backend.h"

namespace headway::kernels {
namespace {

class EmulatedServices final : public DeviceServices {
 public:
  std::string describe() const override { return "emulated GPU"; }

  void fill(DeviceBuffer<bf16>& buffer, std::uint64_t seed, float mean, float deviation) override {
    cpu::NormalValues random(seed, deviation);
    std::vector<bf16> values(buffer.size());
    for (bf16& v : values) v = from_f<bf16>(mean + random.next());
    buffer.upload(values);
  }

  void product(std::int64_t m, std::int64_t n, std::int64_t k, const bf16* x, const bf16* w,
               bf16* y, Stream) override {
    for (std::int64_t r = 0; r < m; ++r) {
      for (std::int64_t c = 0; c < n; ++c) {
        float sum = 0;
        for (std::int64_t i = 0; i < k; ++i) sum += to_f(x[r * k + i]) * to_f(w[c * k + i]);
        y[r * n + c] = from_f<bf16>(sum);
      }
    }
  }
};

}  // namespace

std::unique_ptr<EngineBackend> make_emulated_backend(const LlamaShape& shape, std::uint64_t seed,
                                                     const BackendOptions& options) {
  return std::make_unique<DeviceBackend>(shape, seed, options,
                                         std::make_unique<EmulatedServices>());
}

}  // namespace headway::kernels
