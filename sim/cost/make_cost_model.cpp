#include "sim/cost/make_cost_model.h"

#include <algorithm>
#include <utility>

#include "sim/core/errors.h"
#include "sim/cost/context_parallel.h"
#include "sim/cost/lowered_cost.h"
#include "sim/cost/operators.h"
#include "sim/cost/profile_pricers.h"
#include "sim/cost/roofline_cost.h"

namespace headway {

namespace {

std::unique_ptr<CostModel> lowered(const CostOptions& options) {
  if (options.profile == nullptr && options.roofline_detail == RooflineDetail::kLecture) {
    return make_lecture_roofline(options);
  }
  RankOperators ops = rank_operators(
      options.model, options.precision,
      RankSplit{options.tensor_parallel_size, options.pipeline_parallel_size,
                options.data_parallel_size, options.expert_parallel_size});
  ops.all_to_all = options.all_to_all;
  LoweringLimits limits;
  limits.ranks = options.data_parallel_size;
  limits.tokens = std::clamp(options.max_num_batched_tokens, 1, 65536);
  limits.sequences = std::clamp(options.max_num_seqs, 1, 8192);
  limits.kv_length = options.max_model_len > 0 ? options.max_model_len
                                               : std::max(1, options.model.max_position_embeddings);
  if (options.profile == nullptr) {
    // No engine, no graphs: the roofline is a bound of what the step itself asks for.
    return std::make_unique<LoweredCost>(make_roofline_pricer(ops, options.gpu), limits,
                                         CudaGraphs{});
  }
  const Profile& profile = *options.profile;
  check_profile_for(profile, options.gpu.name);
  std::unique_ptr<StepPricer> pricer;
  if (has_operator_tables(profile)) {
    pricer = make_operators_pricer(profile, ops, options.gpu, limits.kv_length);
  } else if (has_layer_tables(profile)) {
    pricer = make_layers_pricer(profile, options.model, ops, options.gpu);
  } else {
    throw InputError({"", "profile " + profile.name, "no gemm and no attn_mixed table",
                      "a profile that steps can be priced from"});
  }
  CudaGraphs graphs;
  if (!options.enforce_eager) {
    graphs = CudaGraphs::vllm(options.max_num_seqs, options.max_num_batched_tokens);
  }
  const auto launch = profile.overheads.find("kernel_launch_us");
  const double measured = launch == profile.overheads.end() ? 0 : launch->second;
  graphs.launch_us = options.launch_us.value_or(measured);
  return std::make_unique<LoweredCost>(std::move(pricer), limits, graphs);
}

}  // namespace

std::unique_ptr<CostModel> make_cost_model(const CostOptions& options) {
  std::unique_ptr<CostModel> model = lowered(options);
  if (options.context_parallel_size == 1) return model;
  return make_context_parallel_cost(std::move(model), options);
}

}  // namespace headway
