#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/engine/cpu_backend.h"

namespace headway::kernels {

// The answer that one request alone would get: a plain decoder, one sequence, the whole prompt at
// once and then one token at a time, its KV in one stretch of memory, no scheduler, no pages of
// others, no batch. Greedy. What the engine's tokens are compared with.
class ReferenceDecoder {
 public:
  explicit ReferenceDecoder(std::shared_ptr<const CpuWeights> weights);
  ~ReferenceDecoder();

  std::vector<std::int32_t> generate(std::span<const std::int32_t> prompt, std::int32_t count);
  // Logits after the last token of the text.
  std::vector<float> logits_after(std::span<const std::int32_t> text);

 private:
  void feed(std::span<const std::int32_t> tokens, std::int32_t first);
  void head();
  void begin(std::int32_t tokens, std::int32_t rows);

  std::shared_ptr<const CpuWeights> w_;
  std::vector<cpu::Bf16> keys_, values_;  // [layer][pages]
  std::vector<std::int32_t> pages_;       // 0, 1, 2, ...
  std::size_t layer_elements_ = 0;
  std::size_t last_row_ = 0;  // of the tokens fed last
  std::vector<float> residual_, normed_, qkv_, attention_, delta_, gate_up_, mlp_, logits_,
      scratch_;
};

}  // namespace headway::kernels
