#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway {

// The same whole number seen `count` times. Times are kept this way, in nanoseconds: a decode step
// of 200 sequences is one run, and sums are exact whatever their order.
struct ValueRun {
  std::int64_t value = 0;
  std::int64_t count = 0;
};

// What is reported of a sample. std divides by n (ddof 0); percentiles interpolate linearly between
// order statistics (numpy's default): vLLM's definitions. All zero for an empty sample, as there.
struct Distribution {
  std::int64_t count = 0;
  double mean = 0, median = 0, std = 0, min = 0, max = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

// The q-th percentile (0 to 100) of a sorted sample. REQUIRES: not empty.
double percentile(std::span<const double> sorted, double q);
double percentile(std::span<const ValueRun> sorted, double q);

// Where the q-th percentile of `count` values lies: that fraction of the way from the order statistic
// of that rank (0 = the least) to the next. REQUIRES: count > 0, 0 <= q <= 100.
struct Rank {
  std::int64_t index;
  double fraction;
};
Rank rank_of(std::int64_t count, double q);
// In numpy's own two-sided form, so that the last digit agrees with it too.
double interpolate(double low, double high, double t);

// Sorts by value and joins runs of one value.
void sort_and_merge(std::vector<ValueRun>& runs);

Distribution distribution_of(std::vector<double> values);
// Of runs in units of 1/`unit` (1e6: nanoseconds reported as milliseconds). Equal, bit for bit, to
// the result for the list written out. REQUIRES: sorted and merged.
Distribution distribution_of(std::span<const ValueRun> sorted, double unit);

}  // namespace headway
