#pragma once

#include <string>
#include <vector>

#include "sim/study/pareto_front.h"

namespace headway {

// One setup under one load, as a point of the trade between each user's speed and each GPU's work.
struct ParetoPoint {
  std::string label;  // how people call it: "vllm-v1", "8 requests/s"
  ParetoTrade trade;  // a user sees 1000 / mean TPOT in ms; of all users, over the GPUs
  bool good = true;   // whether it does what was asked of it (an SLO)
};

// The points on their fronts (on_pareto_front): by GPUs, then by tokens a user. Points that are not
// finite and above 0 in both are left out.
std::vector<ParetoPoint> pareto_front(std::vector<ParetoPoint> points);

}  // namespace headway
