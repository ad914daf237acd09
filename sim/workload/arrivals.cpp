#include "sim/workload/arrivals.h"

#include <cmath>

#include "sim/core/errors.h"

namespace headway {

ArrivalProcess::ArrivalProcess(double rate, double burstiness, std::uint64_t seed, double stretch)
    : rate_(rate), burstiness_(burstiness), stretch_(stretch), stream_(seed, "arrivals") {
  SIM_CHECK(rate > 0 && burstiness > 0);
}

double ArrivalProcess::next_gap_s() {
  if (std::isinf(rate_)) return 0;
  if (std::isinf(burstiness_)) return 1.0 / rate_;
  if (burstiness_ == 1.0) return stream_.exponential(1.0 / rate_);
  return stream_.gamma(burstiness_, 1.0 / (rate_ * burstiness_));
}

SimTime ArrivalProcess::next() {
  clock_s_ += next_gap_s();
  return SimTime::from_seconds(clock_s_ * stretch_);
}

double rescale_factor(double sum_of_gaps_s, std::int64_t requests, double rate) {
  if (!(sum_of_gaps_s > 0)) return 1.0;
  return static_cast<double>(requests) / rate / sum_of_gaps_s;
}

double rescale_factor(double rate, double burstiness, std::uint64_t seed, std::int64_t requests) {
  ArrivalProcess process(rate, burstiness, seed);
  double sum = 0;
  for (std::int64_t i = 0; i < requests; ++i) sum += process.next_gap_s();
  return rescale_factor(sum, requests, rate);
}

}  // namespace headway
