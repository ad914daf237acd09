#include "sim/report/pareto.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace headway {

std::vector<ParetoPoint> pareto_front(std::vector<ParetoPoint> points) {
  std::erase_if(points, [](const ParetoPoint& p) {
    return !(std::isfinite(p.tokens_per_s_per_user) && p.tokens_per_s_per_user > 0 &&
             std::isfinite(p.tokens_per_s_per_gpu) && p.tokens_per_s_per_gpu > 0);
  });
  // From the fastest for a user down: a point stays when no faster one does more a GPU.
  std::stable_sort(points.begin(), points.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return std::tuple(a.gpus, -a.tokens_per_s_per_user, -a.tokens_per_s_per_gpu) <
           std::tuple(b.gpus, -b.tokens_per_s_per_user, -b.tokens_per_s_per_gpu);
  });
  std::vector<ParetoPoint> front;
  for (ParetoPoint& point : points) {
    const bool first = front.empty() || front.back().gpus != point.gpus;
    const bool equal = !first &&
                       point.tokens_per_s_per_user == front.back().tokens_per_s_per_user &&
                       point.tokens_per_s_per_gpu == front.back().tokens_per_s_per_gpu;
    if (first || equal || point.tokens_per_s_per_gpu > front.back().tokens_per_s_per_gpu) {
      front.push_back(std::move(point));
    }
  }
  std::stable_sort(front.begin(), front.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return std::tuple(a.gpus, a.tokens_per_s_per_user) < std::tuple(b.gpus, b.tokens_per_s_per_user);
  });
  return front;
}

}  // namespace headway
