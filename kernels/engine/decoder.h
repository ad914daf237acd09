#pragma once

#include <span>

#include "kernels/engine/backend.h"

namespace headway::kernels {

// One step of the decoder: all rows through all layers, the sampled rows through the LM head.
// Returns the likeliest next token of each sampled row. `layers` > 0: only the first so many, then
// the final norm and the LM head (a draft made of the target's own first layers).
std::span<const std::int32_t> decode_step(EngineBackend& backend, const StepInput& step,
                                          std::int32_t layers = 0);

}  // namespace headway::kernels
