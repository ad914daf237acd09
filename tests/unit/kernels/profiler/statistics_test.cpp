#include "kernels/profiler/statistics.h"

#include "sim/core/random.h"
#include "tests/support/catch.h"

namespace headway::kernels {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = n; i >= 1; --i) values.push_back(i);
  return values;
}

// Ranks from a table of the sign test: for n values the interval is (x_k, x_{n+1-k}) with the
// largest k for which 2 P(Binomial(n, 1/2) < k) <= 0.05.
TEST_CASE("the median's interval by order statistics has the textbook's ranks", "[unit]") {
  const std::pair<int, int> table[] = {{6, 1},  {7, 1},  {8, 1},   {9, 2},   {10, 2},  {11, 2},
                                       {12, 3}, {15, 4}, {20, 6},  {25, 8},  {30, 10}, {40, 14},
                                       {50, 18}, {100, 40}};
  for (const auto& [n, rank] : table) {
    INFO(n);
    const Interval interval = median_interval(one_to(n));
    CHECK(interval.low == rank);
    CHECK(interval.high == n + 1 - rank);
  }
}

TEST_CASE("fewer than six values: the range", "[unit]") {
  CHECK(median_interval({3}).low == 3);
  CHECK(median_interval({3}).high == 3);
  const Interval five = median_interval({5, 1, 4, 2, 3});
  CHECK(five.low == 1);
  CHECK(five.high == 5);
}

TEST_CASE("median and quantiles interpolate between order statistics", "[unit]") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(quantile({10, 20, 30}, 0.25) == 15);
  CHECK(quantile({10}, 0.9) == 10);
}

TEST_CASE("the interval covers the true median at least 19 times in 20", "[unit]") {
  RandomStream noise(11, "coverage");
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 15; ++i) values.push_back(noise.lognormal(0, 0.3));  // true median 1
    const Interval interval = median_interval(values);
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  // P = 0.9648 for n = 15; 4 standard errors are 0.016.
  CHECK(covered >= 0.945 * kTrials);
  CHECK(covered <= 0.985 * kTrials);
}

TEST_CASE("the robust spread is the standard deviation of normal noise, whatever outliers do",
          "[unit]") {
  RandomStream noise(12, "spread");
  std::vector<double> values;
  for (int i = 0; i < 4001; ++i) values.push_back(noise.normal(50, 1));
  CHECK(robust_sigma(values) == Approx(0.02).epsilon(0.05));
  for (int i = 0; i < 100; ++i) values[static_cast<std::size_t>(i)] = 1e6;
  CHECK(robust_sigma(values) == Approx(0.02).epsilon(0.1));
}

}  // namespace
}  // namespace headway::kernels
