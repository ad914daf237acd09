#pragma once

#include <vector>

namespace headway::kernels {

// REQUIRES: not empty, here and below.
double median(std::vector<double> values);
double quantile(std::vector<double> values, double share);  // linear between order statistics

struct Interval {
  double low = 0, high = 0;
};

// The 95 % interval of the median by order statistics (no assumption on the noise): the narrowest
// symmetric pair (x_l, x_{n+1-l}) that holds the median with that probability, by the binomial
// distribution with p = 1/2. Below six values no pair does: their range.
Interval median_interval(std::vector<double> values);

// 1.4826 x the median distance from the median, over the median: a relative standard deviation that
// a few outliers do not move. 0 for one value.
double robust_sigma(const std::vector<double>& values);

}  // namespace headway::kernels
