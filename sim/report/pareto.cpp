#include "sim/report/pareto.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace headway {

std::vector<ParetoPoint> pareto_front(std::vector<ParetoPoint> points) {
  const auto above_0 = [](double x) { return std::isfinite(x) && x > 0; };
  std::erase_if(points, [&](const ParetoPoint& p) {
    return !above_0(p.trade.tokens_per_s_per_user) || !above_0(p.trade.tokens_per_s_per_gpu);
  });
  std::vector<ParetoTrade> trades;
  for (const ParetoPoint& point : points) trades.push_back(point.trade);
  const std::vector<bool> on_front = on_pareto_front(trades);
  std::vector<ParetoPoint> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (on_front[i]) front.push_back(std::move(points[i]));
  }
  std::stable_sort(front.begin(), front.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return std::tuple(a.trade.gpus, a.trade.tokens_per_s_per_user) <
           std::tuple(b.trade.gpus, b.trade.tokens_per_s_per_user);
  });
  return front;
}

}  // namespace headway
