#pragma once

#include <memory>
#include <vector>

#include "sim/cost/make_cost_model.h"
#include "sim/cost/operator_work.h"
#include "sim/cost/operators.h"
#include "sim/cost/step_pricer.h"

namespace headway {

// max(flops / peak, bytes / bandwidth) of one call, in microseconds.
double roofline_us(const Work& work, double peak_flops, double bandwidth);

// Every operator at its roofline (Williams et al. 2009), no launch time, no overlap between
// operators. All-reduce: 2 (p - 1) / p of the message over the link, plus the link's latency.
std::unique_ptr<StepPricer> make_roofline_pricer(const RankOperators& ops, const GpuSpec& gpu,
                                                 RooflineEfficiency efficiency = {});

// RooflineDetail::kLecture: the step as one operator.
std::unique_ptr<CostModel> make_lecture_roofline(const CostOptions& options);

// KV lengths at which decode attention of such a layer bends at its roofline: where a window or a
// top k ends, and where compute and memory time cross. Ascending, from 1.
std::vector<double> roofline_bends(const RankOperators& ops, const RankLayer& layer,
                                   const GpuSpec& gpu, const RooflineEfficiency& efficiency = {});

// All-reduces of a step (one after each half of a layer) and sends between pipeline stages over the
// GPU's link, where nothing was measured.
double link_all_reduce_us(const RankOperators& ops, const GpuSpec& gpu, double tokens);
double pipeline_sends_us(const RankOperators& ops, const GpuSpec& gpu, double tokens);

}  // namespace headway
