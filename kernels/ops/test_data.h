#pragma once

// What the kernels' checks share: reproducible random numbers on the host, and the error that is
// held against a tolerance.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/rt/number_types.h"

namespace headway::kernels {

// SplitMix64 (Steele, Lea, Flood 2014): a stream of equidistributed 64-bit numbers from a seed.
class TestRandom {
 public:
  explicit TestRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(bits() % static_cast<std::uint64_t>(n));
  }
  double normal() {  // Box-Muller
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
  template <class T>
  std::vector<T> normals(std::size_t count, double mean = 0.0, double deviation = 1.0) {
    std::vector<T> values(count);
    for (T& v : values) v = from_f<T>(static_cast<float>(mean + deviation * normal()));
    return values;
  }

 private:
  std::uint64_t state_;
};

// 0 .. count - 1 in a random order: slots, pages.
inline std::vector<std::int32_t> random_permutation(int count, std::uint64_t seed) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  TestRandom random(seed);
  for (std::int32_t i = 0; i < count; ++i) {
    const auto j = static_cast<std::size_t>(random.below(i + 1));
    order[static_cast<std::size_t>(i)] = order[j];
    order[j] = i;
  }
  return order;
}

// Largest |got - want|, relative to the largest |want|. Infinite when a result is missing or not
// finite, so that it fails.
template <class T>
double relative_error(const std::vector<T>& got, const std::vector<double>& want) {
  if (got.size() < want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double value = to_f(got[i]);
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, std::abs(value - want[i]));
    largest = std::max(largest, std::abs(want[i]));
  }
  return worst == 0.0 ? 0.0 : worst / largest;
}

}  // namespace headway::kernels
