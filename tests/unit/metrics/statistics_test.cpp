#include "sim/metrics/statistics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

TEST_CASE("percentiles interpolate linearly between order statistics", "[unit]") {
  // By hand: position = q/100 x (n - 1).
  const std::vector<double> four = {10, 20, 30, 40};
  CHECK(percentile(four, 0) == 10);
  CHECK(percentile(four, 50) == 25);            // position 1.5
  CHECK(percentile(four, 90) == Approx(37));    // 2.7
  CHECK(percentile(four, 95) == Approx(38.5));  // 2.85
  CHECK(percentile(four, 99) == Approx(39.7));  // 2.97
  CHECK(percentile(four, 100) == 40);
  CHECK(percentile(std::vector<double>{7}, 99) == 7);
  CHECK(percentile(std::vector<double>{1, 2, 4}, 50) == 2);
  CHECK(percentile(std::vector<double>{1, 2, 4}, 75) == 3);  // position 1.5
  CHECK_THROWS_AS(percentile(std::vector<double>{}, 50), InternalError);
  CHECK_THROWS_AS(percentile(four, 101), InternalError);
}

TEST_CASE("mean, median and std of a list worked by hand", "[unit]") {
  // Mean 5, squares about it 9+1+1+1+0+0+4+16 = 32, 32/8 = 4 (ddof 0).
  const Distribution d = distribution_of(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(d.count == 8);
  CHECK(d.mean == 5);
  CHECK(d.std == 2);
  CHECK(d.median == 4.5);
  CHECK(d.p50 == 4.5);
  CHECK(d.min == 2);
  CHECK(d.max == 9);
  CHECK(d.p90 == Approx(7.6));   // position 6.3
  CHECK(d.p95 == Approx(8.3));   // 6.65
  CHECK(d.p99 == Approx(8.86));  // 6.93
}

TEST_CASE("an empty sample reads zero everywhere", "[unit]") {
  const Distribution d = distribution_of(std::vector<double>{});
  CHECK(d.count == 0);
  CHECK(d.mean == 0);
  CHECK(d.p99 == 0);
  CHECK(distribution_of(std::vector<ValueRun>{}, 1e6).count == 0);
}

TEST_CASE("runs in any order give exactly what the expanded list gives", "[unit]") {
  RandomStream random(7, "statistics-test");
  for (int round = 0; round < 200; ++round) {
    std::vector<ValueRun> runs, expanded;
    std::vector<double> plain;
    const auto kinds = random.uniform_int(1, 40);
    for (std::int64_t i = 0; i < kinds; ++i) {
      const std::int64_t value = random.uniform_int(0, round % 2 == 0 ? 20 : 100'000'000'000);
      const std::int64_t count = random.uniform_int(1, 30);
      runs.push_back({value, count});
      for (std::int64_t k = 0; k < count; ++k) {
        expanded.push_back({value, 1});
        plain.push_back(static_cast<double>(value) / 1e6);
      }
    }
    sort_and_merge(runs);
    const Distribution a = distribution_of(runs, 1e6);
    // One run a value, never merged: sorted by repeated insertion order of equal values.
    std::vector<ValueRun> one_by_one = expanded;
    std::sort(one_by_one.begin(), one_by_one.end(),
              [](const ValueRun& x, const ValueRun& y) { return x.value < y.value; });
    const Distribution b = distribution_of(one_by_one, 1e6);
    CHECK(a.count == b.count);
    CHECK(a.mean == b.mean);
    CHECK(a.std == b.std);
    CHECK(a.median == b.median);
    CHECK(a.p90 == b.p90);
    CHECK(a.p95 == b.p95);
    CHECK(a.p99 == b.p99);
    CHECK(a.min == b.min);
    CHECK(a.max == b.max);
    // And agrees with the plain list of doubles to rounding.
    const Distribution c = distribution_of(plain);
    CHECK(a.mean == Approx(c.mean));
    CHECK(a.std == Approx(c.std).margin(1e-9));
    CHECK(a.p99 == Approx(c.p99));
  }
}

TEST_CASE("long sums stay exact where doubles would drift", "[unit]") {
  // 10^7 gaps of 1 s and as many of 1 s + 2 ns: the mean is 1 s + 1 ns, the deviation 1 ns.
  std::vector<ValueRun> runs = {{1'000'000'002, 10'000'000}, {1'000'000'000, 10'000'000}};
  sort_and_merge(runs);
  const Distribution d = distribution_of(runs, 1.0);
  CHECK(d.mean == 1'000'000'001.0);
  CHECK(d.std == 1.0);
  CHECK(d.median == 1'000'000'001.0);
}

TEST_CASE("merging drops empty runs and joins equal values", "[unit]") {
  std::vector<ValueRun> runs = {{5, 2}, {3, 0}, {1, 1}, {5, 3}, {1, 4}};
  sort_and_merge(runs);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].value == 1);
  CHECK(runs[0].count == 5);
  CHECK(runs[1].value == 5);
  CHECK(runs[1].count == 5);
}

}  // namespace
}  // namespace headway
