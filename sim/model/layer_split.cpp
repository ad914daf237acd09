#include "sim/model/layer_split.h"

namespace headway {
namespace {

std::int32_t share(std::int32_t whole, std::int32_t parts) { return (whole + parts - 1) / parts; }

}  // namespace

LayerSpec split_layer(const LayerSpec& layer, std::int32_t tensor, std::int32_t expert_columns) {
  LayerSpec own = layer;
  MixerSpec& mixer = own.mixer;
  mixer.heads = share(mixer.heads, tensor);
  mixer.kv_heads = share(mixer.kv_heads, tensor);
  mixer.output_groups = share(mixer.output_groups, tensor);
  mixer.state.heads = share(mixer.state.heads, tensor);
  mixer.state.groups = share(mixer.state.groups, tensor);
  MlpSpec& mlp = own.mlp;
  mlp.intermediate = share(mlp.intermediate, tensor);
  mlp.shared_intermediate = share(mlp.shared_intermediate, tensor);
  mlp.expert_intermediate = share(mlp.expert_intermediate, expert_columns);
  return own;
}

}  // namespace headway
