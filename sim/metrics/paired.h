#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headway {

// How much larger one policy's metric is than another's, over runs that share their arrivals pair by
// pair (common random numbers): what the pairs have in common falls out of the difference.
struct PairedDifference {
  std::size_t pairs = 0;
  double mean = 0;           // of b - a
  double low = 0, high = 0;  // interval of that mean
  // False: the interval holds 0, so the runs show no difference. That none exists is not said.
  bool shown() const { return low > 0 || high < 0; }
};

inline constexpr double kIntervalLevel = 0.95;
inline constexpr int kBootstrapDraws = 10'000;

// The bootstrap interval of the mean of b[i] - a[i]. Percentile intervals of few pairs are too short:
// they leave out the factor n / (n - 1) of the variance and the width of Student's t. The percentiles
// are therefore taken further out, so that for normal data they reach as far as t does (Hesterberg,
// "What Teachers Should Know about the Bootstrap", 2015, section 4.1.2, expanded percentiles).
// Equal inputs give equal results. REQUIRES: as many of a as of b, at least two.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   std::uint64_t seed = 1);

// The same interval for the mean of one sample (differences against nothing).
PairedDifference bootstrap_mean(std::span<const double> values, std::uint64_t seed = 1);

}  // namespace headway
