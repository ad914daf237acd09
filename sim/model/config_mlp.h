#pragma once

#include <vector>

#include "sim/model/config_reader.h"
#include "sim/model/layer_spec.h"

namespace headway {

// The MLP of each of so many layers, dense or a mixture of experts, as the keys of a config tell
// it.
//
// Dense: intermediate_size, mlp_bias. Experts: as many as num_experts, num_local_experts or
// n_routed_experts says (0 or none: all layers are dense), num_experts_per_tok of them a token,
// moe_intermediate_size wide (default: intermediate_size, as Mixtral has it). Shared experts:
// shared_expert_intermediate_size with a gate, or n_shared_experts as wide as the others.
// Where layers differ: first_k_dense_replace, moe_layer_freq (a number n: layers 0, n, 2n ... of
// the rest; or a list of 0 and 1), decoder_sparse_step (every n-th), interleave_moe_layer_step,
// mlp_only_layers. routing_skew (ours): exponent of the power law of the experts' loads.
std::vector<MlpSpec> read_mlps(const ConfigReader& config, std::int32_t layers);

}  // namespace headway
