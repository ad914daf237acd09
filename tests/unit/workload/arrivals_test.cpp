#include "sim/workload/arrivals.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/catch.h"

namespace headway {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Moments {
  double mean = 0, cv = 0;
};

Moments gaps_of(double rate, double burstiness, int n) {
  ArrivalProcess process(rate, burstiness, 7);
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double gap = process.next_gap_s();
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean) / mean};
}

TEST_CASE("gaps have the mean of the rate and the variation of the burstiness", "[unit]") {
  // A gamma of shape k has a coefficient of variation of 1 / sqrt(k). 10^5 draws: about 1 %.
  constexpr int kDraws = 100'000;
  const auto burstiness = GENERATE(0.25, 0.5, 1.0, 2.0, 16.0);
  CAPTURE(burstiness);
  const Moments m = gaps_of(4.0, burstiness, kDraws);
  CHECK(m.mean == Approx(0.25).epsilon(0.02));
  CHECK(m.cv == Approx(1 / std::sqrt(burstiness)).epsilon(0.03));
}

TEST_CASE("infinite burstiness is constant gaps, an infinite rate is all at once", "[unit]") {
  ArrivalProcess constant(4.0, kInfinity, 7);
  CHECK(constant.next() == SimTime::from_seconds(0.25));  // the first waits its own gap
  CHECK(constant.next() == SimTime::from_seconds(0.5));
  CHECK(constant.next() == SimTime::from_seconds(0.75));
  ArrivalProcess at_once(kInfinity, 1.0, 7);
  CHECK(at_once.next() == SimTime());
  CHECK(at_once.next() == SimTime());
}

TEST_CASE("rescaling gives the send times that vLLM's benchmark gives", "[unit]") {
  // goldens: raw gaps .2 .5 .1 .2 at 2 requests/s are sent at .4 1.4 1.6 2.0.
  const std::vector<double> gaps = {0.2, 0.5, 0.1, 0.2};
  const std::vector<double> sends = {0.4, 1.4, 1.6, 2.0};
  double sum = 0;
  for (const double gap : gaps) sum += gap;
  const double stretch = rescale_factor(sum, 4, 2.0);
  double clock = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    clock += gaps[i];
    CHECK(SimTime::from_seconds(clock * stretch) == SimTime::from_seconds(sends[i]));
  }
}

TEST_CASE("a rescaled process sends its last request exactly at n / rate", "[unit]") {
  const double stretch = rescale_factor(3.0, 0.5, 11, 1000);
  ArrivalProcess plain(3.0, 0.5, 11);
  ArrivalProcess rescaled(3.0, 0.5, 11, stretch);
  SimTime last;
  for (int i = 0; i < 1000; ++i) {
    const SimTime before = plain.next();
    last = rescaled.next();
    REQUIRE(last.seconds() == Approx(before.seconds() * stretch).margin(2e-9));
  }
  CHECK(last == SimTime::from_seconds(1000 / 3.0));
}

}  // namespace
}  // namespace headway
