#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway {

// What a setup gives each user, and what it gets out of each GPU: one has a price in the other.
struct ParetoTrade {
  std::int32_t gpus = 1;             // of the whole setup; fronts are told apart by it
  double tokens_per_s_per_user = 0;
  double tokens_per_s_per_gpu = 0;
};

// Which of them no other one with as many GPUs beats in one of the two and equals in the other. Of
// equals, all. REQUIRES: no NaN.
std::vector<bool> on_pareto_front(std::span<const ParetoTrade> trades);

}  // namespace headway
