#pragma once

#include <memory>

#include "sim/cost/make_cost_model.h"
#include "sim/cost/operators.h"
#include "sim/cost/step_pricer.h"

namespace headway {

// Whether the profile has the tables of each way to price a step.
bool has_operator_tables(const Profile& profile);
bool has_layer_tables(const Profile& profile);

// A step from tables of operators (gemm, attn_prefill, attn_decode, moe, all_reduce), which hold for
// any model. Norms, RoPE, activation, residual, embedding: bytes at 80 % of bandwidth, tagged
// roofline. `max_kv_tokens`: KV length up to which prefill attention is tabulated.
// InputError: no table for the dtypes or the head size.
std::unique_ptr<StepPricer> make_operators_pricer(const Profile& profile, const RankOperators& ops,
                                                  const GpuSpec& gpu, std::int32_t max_kv_tokens);

// A step from tables of one model's layers (layer, per_sequence, attn_mixed, attn_skew).
// InputError: the profile was not measured for this model, precision or tensor-parallel size.
std::unique_ptr<StepPricer> make_layers_pricer(const Profile& profile, const ModelSpec& model,
                                               const RankOperators& ops, const GpuSpec& gpu);

}  // namespace headway
