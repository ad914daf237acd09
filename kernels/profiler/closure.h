#pragma once

#include <vector>

#include "kernels/profiler/backend.h"
#include "kernels/profiler/measure.h"
#include "kernels/profiler/models.h"
#include "sim/cost/profile.h"

namespace headway::kernels {

// A whole made of the table's own calls: one decoder layer at some batch and length, or a whole
// step (embedding where there is an entry, all layers, final norm, LM head, greedy sampler).
struct Whole {
  std::string what;
  Sequence sequence;
};

// Layers at six points and one whole decode step and one prefill of the model, from the first entry
// of each op that fits. Empty for a mixture of experts, and where an entry is missing (a filtered
// or interrupted profile).
std::vector<Whole> closure_wholes(const std::vector<KernelEntry>& entries,
                                  const ProfiledModel& model);

// Times each as one sequence (one graph on a GPU) and sums the tables' times of its parts. Leaves
// out what does not fit, what the tables cannot answer, and what the deadline cuts off.
std::vector<Closure> measure_closure(Backend& backend, const std::vector<Whole>& wholes,
                                     const std::vector<ProfileTable>& tables,
                                     const StoppingRule& rule, const Deadline& deadline);

}  // namespace headway::kernels
