#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headway {

// One setup under one load, as a point of the trade between each user's speed and each GPU's work.
struct ParetoPoint {
  std::string label;                 // how people call it: "vllm-v1", "8 requests/s"
  std::int32_t gpus = 1;             // of the whole setup; fronts are told apart by it
  double tokens_per_s_per_user = 0;  // output tokens one user sees: 1000 / mean TPOT in ms
  double tokens_per_s_per_gpu = 0;   // output tokens of all users, over the GPUs
  bool good = true;                  // whether it does what was asked of it (an SLO)
};

// What no other point with as many GPUs beats in one of the two and equals in the other: by GPUs,
// then by tokens a user. Of equal points all stay. Points that are not finite and above 0 in
// both are left out.
std::vector<ParetoPoint> pareto_front(std::vector<ParetoPoint> points);

}  // namespace headway
