#pragma once

#include <cstdint>

#include "sim/kv/memory_budget.h"
#include "sim/model/model_spec.h"

namespace headway {

// One GPU's share of a model: a tensor-parallel rank of one pipeline stage. Both referenced objects
// must outlive it.
class ModelShard {
 public:
  ModelShard(const ModelSpec& model, const MemoryOptions& options, std::int32_t stage);

  // The layers of this stage: [first_layer, first_layer + layers). The remainder goes to the stages
  // before the last, from the back, as in vLLM.
  std::int32_t first_layer() const { return first_layer_; }
  std::int32_t layers() const { return layers_; }

  // Weights, embedding and LM head where this stage has them, and the rotary table.
  std::int64_t weight_bytes() const;
  // Peak of the profile run: the widest operator of a layer beside the residual stream and its
  // normalised copy, or sampling for a full batch beside the hidden states, whichever is more.
  std::int64_t activation_bytes() const;

 private:
  LayerSpec own(const LayerSpec& layer) const;  // this rank's share
  double layer_weight_bytes(const LayerSpec& layer) const;
  std::int64_t mixer_activations(const LayerSpec& own) const;  // elements a token
  std::int64_t mlp_activations(const LayerSpec& own) const;    // the same
  std::int64_t padded_vocabulary() const;
  std::int64_t rotary_bytes() const;

  const ModelSpec& model_;
  const MemoryOptions& options_;
  std::int32_t stage_, first_layer_ = 0, layers_ = 0;
};

}  // namespace headway
