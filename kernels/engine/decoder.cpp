#include "kernels/engine/decoder.h"

namespace headway::kernels {

std::span<const std::int32_t> decode_step(EngineBackend& b, const StepInput& step,
                                          std::int32_t layers) {
  if (layers == 0) layers = b.shape().layers;
  b.begin(step);
  b.embed();
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    b.norm(layer, false, layer > 0);
    b.linear(layer, Product::kQkv);
    b.rope();
    b.kv_write(layer);
    b.attention(layer);
    b.linear(layer, Product::kO);
    b.norm(layer, true, true);
    b.linear(layer, Product::kGateUp);
    b.silu_mul();
    b.linear(layer, Product::kDown);
  }
  if (!step.sampled_rows.empty()) {
    b.final_norm();
    b.lm_head();
    b.sample();
  }
  return b.finish();
}

}  // namespace headway::kernels
