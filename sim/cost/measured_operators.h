#pragma once

#include "sim/cost/interpolation.h"
#include "sim/cost/profile.h"

namespace headway {

// Reads a table as its op demands: which axes name a site, how unmeasured sites are found, and what
// a call asks of the GPU. The table must outlive the result. InputError for a table of an op that
// has no price (see has_price) or a variant that cannot be read.
OperatorTable measured_operator(const ProfileTable& table);

// Whether the op is one that a cost model asks: gemm, attn_prefill, attn_decode, moe, all_reduce,
// all_gather, reduce_scatter, all_to_all,
// layer, layer_experts, per_sequence, attn_mixed, and the operators that only profiles of our own
// have (rmsnorm ... gdn_update).
bool has_price(const std::string& op);

}  // namespace headway
