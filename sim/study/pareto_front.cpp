#include "sim/study/pareto_front.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace headway {

std::vector<bool> on_pareto_front(std::span<const ParetoTrade> trades) {
  // From the fastest for a user down: one stays when no faster one does as much a GPU.
  std::vector<std::size_t> order(trades.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const ParetoTrade &a = trades[i], &b = trades[j];
    return std::tuple(a.gpus, -a.tokens_per_s_per_user, -a.tokens_per_s_per_gpu) <
           std::tuple(b.gpus, -b.tokens_per_s_per_user, -b.tokens_per_s_per_gpu);
  });
  std::vector<bool> on_front(trades.size());
  const ParetoTrade* best = nullptr;  // of as many GPUs, so far
  for (const std::size_t i : order) {
    const ParetoTrade& t = trades[i];
    const bool first = best == nullptr || best->gpus != t.gpus;
    const bool equal = !first && t.tokens_per_s_per_user == best->tokens_per_s_per_user &&
                       t.tokens_per_s_per_gpu == best->tokens_per_s_per_gpu;
    on_front[i] = first || equal || t.tokens_per_s_per_gpu > best->tokens_per_s_per_gpu;
    if (on_front[i]) best = &t;
  }
  return on_front;
}

}  // namespace headway
