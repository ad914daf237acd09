#pragma once

#include <vector>

#include "kernels/profiler/session.h"
#include "sim/cost/operators.h"
#include "sim/scenario/scenario.h"

namespace headway::kernels {

// What a profile must hold so that the simulator can price every step of the scenario: this model's
// widths; rows, batches and lengths up to the engine's limits.
std::vector<Point> points_for(const std::vector<KernelEntry>& entries, const Scenario& scenario);

}  // namespace headway::kernels
