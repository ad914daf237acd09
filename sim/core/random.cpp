#include "sim/core/random.h"

#include <cmath>

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "sim/core/hash.h"

namespace headway {

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index)
    : engine_(combine64(combine64(mix64(seed), hash_name(name)), index)) {}

double RandomStream::uniform() { return boost::random::uniform_01<double>()(engine_); }

std::int64_t RandomStream::uniform_int(std::int64_t lo, std::int64_t hi) {
  return boost::random::uniform_int_distribution<std::int64_t>(lo, hi)(engine_);
}

double RandomStream::exponential(double mean) {
  return boost::random::exponential_distribution<double>(1.0 / mean)(engine_);
}

double RandomStream::normal(double mean, double stddev) {
  return boost::random::normal_distribution<double>(mean, stddev)(engine_);
}

double RandomStream::lognormal(double mu, double sigma) { return std::exp(normal(mu, sigma)); }

double RandomStream::gamma(double shape, double scale) {
  return boost::random::gamma_distribution<double>(shape, scale)(engine_);
}

}  // namespace headway
