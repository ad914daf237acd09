#pragma once

#include <cstdint>
#include <memory>

#include "sim/cost/cost_model.h"
#include "sim/cost/make_cost_model.h"

namespace headway {

// The share of one of `gpus` in a prompt's chunk that is cut over them, each taking a piece from the
// front and one from the back so that all have the same pairs of query and key (Llama 3's context
// parallelism; striped and zigzag ring attention have the same share).
PrefillChunk context_parallel_share(const PrefillChunk& chunk, std::int32_t gpus);

// Context parallelism of prefill: the tokens of every chunk are spread over
// options.context_parallel_size GPUs, each with the whole weights. Each runs its share of the rows and
// of the attention; keys and values of the chunk are all-gathered in every layer that keeps some, and
// every GPU keeps the whole cache, so that decodes run on all of them alike and gain nothing.
std::unique_ptr<CostModel> make_context_parallel_cost(std::unique_ptr<CostModel> one_gpu,
                                                      const CostOptions& options);

}  // namespace headway
