#include "sim/metrics/paired.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "sim/metrics/statistics.h"

namespace headway {
namespace {

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The lower percentile (0 to 50) at which the interval begins; it ends as far from 100.
double expanded_percentile(std::size_t n) {
  const double tail = (1 - kIntervalLevel) / 2;
  const auto count = static_cast<double>(n);
  // In double throughout: Boost's constants for long double are computed before main(), which valgrind,
  // whose long double is a double, does not survive.
  using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  const boost::math::students_t_distribution<double, InDouble> student(count - 1);
  const boost::math::normal_distribution<double, InDouble> normal;
  const double reach = std::sqrt(count / (count - 1)) * boost::math::quantile(student, tail);
  return 100 * boost::math::cdf(normal, reach);
}

}  // namespace

PairedDifference bootstrap_mean(std::span<const double> values, std::uint64_t seed) {
  const std::size_t n = values.size();
  SIM_CHECK(n >= 2, "an interval from fewer than two runs");
  RandomStream stream(seed, "bootstrap");
  std::vector<double> means(kBootstrapDraws);
  for (double& mean : means) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += values[static_cast<std::size_t>(
          stream.uniform_int(0, static_cast<std::int64_t>(n) - 1))];
    }
    mean = sum / static_cast<double>(n);
  }
  std::sort(means.begin(), means.end());
  const double q = expanded_percentile(n);
  return {n, mean_of(values), percentile(means, q), percentile(means, 100 - q)};
}

PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   std::uint64_t seed) {
  SIM_CHECK(a.size() == b.size(), "pairs of runs");
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differences[i] = b[i] - a[i];
  return bootstrap_mean(differences, seed);
}

}  // namespace headway
