#include "sim/cost/context_parallel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cost/collectives.h"
#include "sim/model/layer_split.h"

namespace headway {
namespace {

// What one token adds to the all-gather of a layer: keys and values of this rank's heads, or a latent.
double exchanged_bytes(const LayerSpec& layer) {
  const MixerSpec& m = layer.mixer;
  if (!m.is_attention() || m.shares_kv) return 0;
  if (m.kind == MixerKind::kLatentAttention) {
    return (m.kv_lora_rank + m.qk_rope_head_dim) * kHiddenBytes;
  }
  return m.kv_heads * (m.head_dim + m.v_head_dim) * kHiddenBytes;
}

class ContextParallelCost final : public CostModel {
 public:
  ContextParallelCost(std::unique_ptr<CostModel> one_gpu, const CostOptions& options)
      : one_gpu_(std::move(one_gpu)),
        gpus_(options.context_parallel_size),
        gather_(options.profile, CollectiveKind::kAllGather, gpus_, options.gpu) {
    const std::int32_t tp = options.tensor_parallel_size;
    for (const LayerKind& kind : layer_kinds(options.model)) {
      const double bytes = exchanged_bytes(split_layer(kind.layer, tp, tp));
      if (bytes > 0) layers_.push_back({static_cast<double>(kind.count), bytes});
    }
  }

  StepCost price(const StepShape& shape) const override {
    if (shape.prefill.empty()) return one_gpu_->price(shape);
    StepShape share = shape;
    std::int32_t tokens = 0;
    for (PrefillChunk& chunk : share.prefill) {
      tokens += chunk.new_tokens;
      const PrefillChunk own = context_parallel_share(chunk, gpus_);
      share.tokens -= chunk.new_tokens - own.new_tokens;
      chunk = own;
    }
    StepCost cost = one_gpu_->price(share);
    for (const Layers& layers : layers_) {
      const Priced one = gather_.at(tokens * layers.bytes);
      add_cost(cost, OpClass::kCommunication, layers.count * one.us, one.from);
    }
    return cost;
  }

  void price_run(const StepShape& first, std::int64_t steps, DecodeRunCost& out) const override {
    one_gpu_->price_run(first, steps, out);
  }

  std::string describe() const override {
    return one_gpu_->describe() + ", prompts over " + std::to_string(gpus_) + " GPUs";
  }

 private:
  struct Layers {
    double count, bytes;
  };
  std::unique_ptr<CostModel> one_gpu_;
  std::int32_t gpus_;
  Collective gather_;
  std::vector<Layers> layers_;
};

}  // namespace

PrefillChunk context_parallel_share(const PrefillChunk& chunk, std::int32_t gpus) {
  const std::int32_t own = (chunk.new_tokens + gpus - 1) / gpus;
  return {own, chunk.context_tokens + (chunk.new_tokens - own) / 2};
}

std::unique_ptr<CostModel> make_context_parallel_cost(std::unique_ptr<CostModel> one_gpu,
                                                      const CostOptions& options) {
  return std::make_unique<ContextParallelCost>(std::move(one_gpu), options);
}

}  // namespace headway
