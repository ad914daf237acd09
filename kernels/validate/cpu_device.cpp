#include <map>

#include "kernels/cpu/cpu_ops.h"
#include "kernels/engine/cpu_backend.h"
#include "kernels/engine/reference_decoder.h"
#include "kernels/profiler/cpu_backend.h"
#include "kernels/registry.h"
#include "kernels/validate/device.h"

namespace headway::kernels {
namespace {

class CpuDevice final : public ValidationDevice {
 public:
  CpuDevice(const LlamaShape& shape, std::uint64_t seed, double kv_bytes)
      : weights_(make_cpu_weights(shape, seed)), kernels_(cpu_kernels()) {
    CpuOptions options;
    options.rotate_bytes = weights_->bytes() + kv_bytes;
    profiler_ = make_cpu_backend(options);
  }

  std::string describe() const override {
    return profiler_->device().name + ", one thread, " + cpu::cpu_ops().isa;
  }
  std::unique_ptr<EngineBackend> make_engine(const BackendOptions& options) override {
    return make_cpu_backend(weights_, options);
  }
  const std::vector<KernelEntry>& kernels() const override { return kernels_; }
  Backend& profiler() override { return *profiler_; }

  // With answers that were asked for before, since most prompts come in every run.
  TokenCheck check_tokens(const std::vector<Conversation>& conversations, EngineBackend&,
                          std::int32_t) override {
    TokenCheck check;
    check.rule = "equal, every token";
    check.all_answers = std::ssize(conversations);
    ReferenceDecoder reference(weights_);
    std::map<std::vector<std::int32_t>, std::vector<std::int32_t>> known;  // by prompt
    for (const Conversation& c : conversations) {
      std::vector<std::int32_t>& expected = known[c.prompt];
      if (expected.size() < c.answer.size()) {
        expected = reference.generate(c.prompt, static_cast<std::int32_t>(c.answer.size()));
      }
      ++check.answers;
      check.tokens += std::ssize(c.answer);
      for (std::size_t i = 0; i < c.answer.size(); ++i) {
        if (c.answer[i] == expected[i]) continue;
        ++check.different;
        if (!check.first_difference.empty()) continue;
        check.first_difference = "request " + std::to_string(c.request) + ", token " +
                                 std::to_string(i) + ": " + std::to_string(c.answer[i]) + " for " +
                                 std::to_string(expected[i]);
      }
    }
    return check;
  }

 private:
  std::shared_ptr<const CpuWeights> weights_;
  std::vector<KernelEntry> kernels_;
  std::unique_ptr<Backend> profiler_;
};

}  // namespace

std::unique_ptr<ValidationDevice> make_cpu_device(const LlamaShape& shape, std::uint64_t seed,
                                                  double kv_bytes) {
  return std::make_unique<CpuDevice>(shape, seed, kv_bytes);
}

}  // namespace headway::kernels
