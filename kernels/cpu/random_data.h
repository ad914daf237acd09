#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/bf16.h"

namespace headway::kernels::cpu {

// Normal random values for weights and test data, the same on every machine and fast enough for
// hundreds of megabytes: splitmix64 picks one of 4096 quantiles of the normal distribution.
class NormalValues {
 public:
  explicit NormalValues(std::uint64_t seed, float deviation = 1);
  float next();
  void fill(std::vector<float>& values);
  void fill(std::vector<Bf16>& values);

 private:
  std::uint64_t state_;
  std::vector<float> quantiles_;
};

}  // namespace headway::kernels::cpu
