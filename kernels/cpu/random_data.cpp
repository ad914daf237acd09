#include "kernels/cpu/random_data.h"

#include <algorithm>
#include <cmath>

namespace headway::kernels::cpu {
namespace {

constexpr int kQuantiles = 4096;

// The normal distribution's quantile by bisection of its own definition; made 4096 times.
double quantile(double share) {
  double low = -6, high = 6;
  for (int i = 0; i < 48; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

const std::vector<float>& quantiles() {
  static const std::vector<float> table = [] {
    std::vector<float> q(kQuantiles);
    for (int i = 0; i < kQuantiles; ++i)
      q[i] = static_cast<float>(quantile((i + 0.5) / kQuantiles));
    return q;
  }();
  return table;
}

}  // namespace

NormalValues::NormalValues(std::uint64_t seed, float deviation)
    : state_(seed), quantiles_(quantiles()) {
  for (float& q : quantiles_) q *= deviation;
}

float NormalValues::next() {
  state_ += 0x9e3779b97f4a7c15ULL;  // splitmix64
  std::uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return quantiles_[(x >> 20) % kQuantiles];
}

void NormalValues::fill(std::vector<float>& values) {
  for (float& v : values) v = next();
}

void NormalValues::fill(std::vector<Bf16>& values) {
  for (Bf16& v : values) v = narrow(next());
}

}  // namespace headway::kernels::cpu
