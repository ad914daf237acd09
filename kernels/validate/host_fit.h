#pragma once

#include <span>

#include "kernels/engine/engine.h"
#include "sim/cost/profile.h"

namespace headway::kernels {

// The host terms that an engine's steps show: host time a step = per_step + per_sequence x
// sequences (least squares over the median of each batch size, weighted by its steps; disturbed
// steps are left out), and intake time a request. Neither term is below 0.
HostTerms fit_host_terms(std::span<const StepTiming> steps, double intake_us,
                         std::int64_t requests);

}  // namespace headway::kernels
