#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/engine/backend.h"
#include "kernels/engine/engine.h"
#include "kernels/profiler/backend.h"

namespace headway::kernels {

// How the engine's answers compare with those of one request alone.
struct TokenCheck {
  std::int64_t answers = 0, tokens = 0;  // compared
  std::int64_t all_answers = 0;          // that there were
  std::int64_t different = 0;            // tokens that differ, beyond what `rule` lets pass
  std::int64_t near_ties = 0;            // differ, but within what the arithmetic cannot tell apart
  std::string rule;                      // "equal, every token"
  std::string first_difference;
};

// What validation runs on: a device with its kernels, able to decode and to be profiled.
class ValidationDevice {
 public:
  virtual ~ValidationDevice() = default;
  virtual std::string describe() const = 0;  // "AMD EPYC, 1 thread, avx2+fma"
  virtual std::unique_ptr<EngineBackend> make_engine(const BackendOptions& options) = 0;
  virtual const std::vector<KernelEntry>& kernels() const = 0;
  virtual Backend& profiler() = 0;
  // The engine is idle, and may be used for it.
  virtual TokenCheck check_tokens(const std::vector<Conversation>& conversations,
                                  EngineBackend& engine, std::int32_t page_size) = 0;
};

// The CPU at hand, one thread, weights from the seed. Buffers of the profile rotate over as many
// bytes as the model's weights and KV take, which is what lies between two uses of one of them in a
// running engine.
std::unique_ptr<ValidationDevice> make_cpu_device(const LlamaShape& shape, std::uint64_t seed,
                                                  double kv_bytes);
// The GPU at hand. InputError (exit 2) where there is none, or the build has no CUDA.
std::unique_ptr<ValidationDevice> make_cuda_device(const LlamaShape& shape, std::uint64_t seed,
                                                   double kv_bytes);

}  // namespace headway::kernels
