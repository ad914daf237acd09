#pragma once

#include <cstdint>

#include "sim/model/layer_spec.h"

namespace headway {

// What one GPU holds of a layer: heads, states and MLP columns are cut over `tensor` ranks
// (Megatron-LM's split), rounded up where they do not divide; fewer key/value heads (or state
// groups) than ranks are kept by several. Latents, indexers, norms and routers are whole on every
// rank. The columns of an expert are cut over `expert_columns` GPUs: `tensor` of them unless whole
// experts are spread. `experts` stays the model's, since routers see them all: experts_held() says
// how many are here when they are spread over `expert` groups.
LayerSpec split_layer(const LayerSpec& layer, std::int32_t tensor, std::int32_t expert_columns);

constexpr std::int32_t experts_held(const MlpSpec& mlp, std::int32_t expert) {
  return (mlp.experts + expert - 1) / expert;
}

}  // namespace headway
