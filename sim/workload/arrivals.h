#pragma once

#include <cstdint>

#include "sim/core/random.h"
#include "sim/core/sim_time.h"

namespace headway {

// Send times of generated requests, as vLLM's serving benchmark makes them (v0.16): gaps are gamma
// distributed with shape `burstiness` and mean 1 / rate, and the first request waits its own gap.
// Burstiness 1 is Poisson, infinity is constant gaps; an infinite rate sends all at 0.
class ArrivalProcess {
 public:
  // REQUIRES: rate > 0, burstiness > 0. `stretch` multiplies every gap (see rescale_factor).
  ArrivalProcess(double rate, double burstiness, std::uint64_t seed, double stretch = 1.0);
  SimTime next();
  double next_gap_s();  // not stretched; next() draws the same sequence

 private:
  double rate_, burstiness_, stretch_;
  RandomStream stream_;
  double clock_s_ = 0;
};

// vLLM stretches the gaps so that the last of n requests is sent exactly at n / rate.
double rescale_factor(double sum_of_gaps_s, std::int64_t requests, double rate);
// The same for the first `requests` gaps of a process.
double rescale_factor(double rate, double burstiness, std::uint64_t seed, std::int64_t requests);

}  // namespace headway
