#include "sim/metrics/value_sample.h"

#include <algorithm>
#include <vector>

#include "sim/core/random.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

struct Both {
  ValueSample sample{1'000'000};
  std::vector<double> all;

  void add(std::int64_t value, std::int64_t count) {
    sample.add(value, count);
    all.insert(all.end(), static_cast<std::size_t>(count), static_cast<double>(value));
  }
  void check() {
    std::sort(all.begin(), all.end());
    std::vector<double> qs;
    for (double q = 0; q <= 100; q += 0.25) qs.push_back(q);
    const std::vector<double> got = sample.percentiles(qs);
    for (std::size_t i = 0; i < qs.size(); ++i) {
      INFO(qs[i]);
      REQUIRE(got[i] == percentile(all, qs[i]));
    }
    const Distribution a = sample.distribution(1.0), b = distribution_of(all);
    REQUIRE(a.count == b.count);
    REQUIRE(a.mean == Approx(b.mean).epsilon(1e-12));
    REQUIRE(a.std == Approx(b.std).epsilon(1e-9));
    REQUIRE(a.p50 == b.p50);
    REQUIRE(a.p90 == b.p90);
    REQUIRE(a.p95 == b.p95);
    REQUIRE(a.p99 == b.p99);
    REQUIRE(a.min == b.min);
    REQUIRE(a.max == b.max);
  }
};

}  // namespace

TEST_CASE("percentiles of a sample are those of the sorted list, bit for bit", "[unit][metrics]") {
  RandomStream random(11, "sample");
  for (const int n : {1, 2, 3, 100, 5000}) {
    for (const double spread : {1.0, 50.0, 1e5, 1e10}) {
      Both both;
      for (int i = 0; i < n; ++i) {
        both.add(static_cast<std::int64_t>(random.uniform() * spread),
                 1 + static_cast<std::int64_t>(random.uniform() * 3));
      }
      INFO(n << " values below " << spread);
      both.check();
    }
  }
}

TEST_CASE("values added together are the same sample", "[unit][metrics]") {
  Both both;
  std::int64_t base = 10'000'000;
  for (int run = 0; run < 40; ++run, base += 1'700) {
    const std::size_t n = 1 + static_cast<std::size_t>(run) * 37;
    const auto value = [&](std::size_t i) { return base + static_cast<std::int64_t>(i) * 311; };
    both.sample.add_all(n, 1 + run % 4, value);
    for (std::size_t i = 0; i < n; ++i) {
      both.all.insert(both.all.end(), static_cast<std::size_t>(1 + run % 4),
                      static_cast<double>(value(i)));
    }
  }
  both.check();
}

TEST_CASE("more values than may be kept: the sketch answers", "[unit][metrics]") {
  ValueSample few(1000), all(100'000);
  REQUIRE(few.distribution(1.0).count == 0);
  for (std::int64_t i = 0; i < 20'000; ++i) {
    for (ValueSample* s : {&few, &all}) s->add(5'000'000 + i * 7919 % 20'011, 2);
  }
  REQUIRE_FALSE(few.exact());
  REQUIRE(all.exact());
  const Distribution a = few.distribution(1.0), b = all.distribution(1.0);
  REQUIRE(a.mean == b.mean);
  REQUIRE(a.std == b.std);
  REQUIRE(a.p99 == Approx(b.p99).epsilon(0.0005));
}
