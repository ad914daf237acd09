#include "kernels/profiler/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/core/errors.h"

namespace headway::kernels {
namespace {

constexpr double kMissed = 0.025;  // probability allowed in each tail

// The rank (from 1) of the lower end: the largest l with P(fewer than l of n values lie below the
// median) = P(Binomial(n, 1/2) < l) within the tail. 0: none.
std::size_t lower_rank(std::size_t n) {
  // Terms of the binomial, by their logs: 2^-n leaves the doubles' range at some n.
  double log_term = -static_cast<double>(n) * std::log(2.0);
  double tail = 0;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < n / 2; ++i) {
    tail += std::exp(log_term);
    if (tail > kMissed) break;
    rank = i + 1;
    log_term += std::log(static_cast<double>(n - i)) - std::log(static_cast<double>(i + 1));
  }
  return rank;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  SIM_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

Interval median_interval(std::vector<double> values) {
  SIM_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t rank = std::max<std::size_t>(lower_rank(values.size()), 1);
  return {values[rank - 1], values[values.size() - rank]};
}

double robust_sigma(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  for (double v : values) distances.push_back(std::abs(v - middle));
  return 1.4826 * median(std::move(distances)) / middle;
}

}  // namespace headway::kernels
