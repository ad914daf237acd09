#pragma once

#include <memory>

#include "sim/cost/make_cost_model.h"
#include "sim/cost/operators.h"
#include "sim/cost/step_pricer.h"

namespace headway {

// Shares of the data-sheet figures that operators reach. 1 = the roofline proper.
struct RooflineEfficiency {
  double compute = 1;
  double memory = 1;
};

// max(flops / peak, bytes / bandwidth) of one call, in microseconds.
double roofline_us(const Work& work, double peak_flops, double bandwidth);

// Every operator at its roofline (Williams et al. 2009), no launch time, no overlap between
// operators. All-reduce: 2 (p - 1) / p of the message over the link, plus the link's latency.
std::unique_ptr<StepPricer> make_roofline_pricer(const RankOperators& ops, const GpuSpec& gpu,
                                                 RooflineEfficiency efficiency = {});

// RooflineDetail::kLecture: the step as one operator.
std::unique_ptr<CostModel> make_lecture_roofline(const CostOptions& options);

// All-reduces of a step (two a layer) and sends between pipeline stages over the GPU's link, where
// nothing was measured.
double link_all_reduce_us(const RankOperators& ops, const GpuSpec& gpu, double tokens);
double pipeline_sends_us(const RankOperators& ops, const GpuSpec& gpu, double tokens);

}  // namespace headway
