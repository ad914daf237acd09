#pragma once

#include <cstdint>
#include <string_view>

#include <boost/random/mersenne_twister.hpp>

namespace headway {

// One named random sequence of a simulation. Streams with different names are independent, so that
// drawing more of one (say, lengths) never shifts another (say, arrivals). Engine and distributions
// are Boost.Random's, whose digits do not depend on the standard library.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index = 0);

  double uniform();                                  // [0, 1)
  std::int64_t uniform_int(std::int64_t lo, std::int64_t hi);  // [lo, hi]
  double exponential(double mean);
  double normal(double mean, double stddev);
  double lognormal(double mu, double sigma);         // of the underlying normal
  double gamma(double shape, double scale);

 private:
  boost::random::mt19937_64 engine_;
};

}  // namespace headway
