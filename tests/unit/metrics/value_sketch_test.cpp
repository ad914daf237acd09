#include "sim/metrics/value_sketch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "sim/metrics/statistics.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

std::vector<ValueRun> as_runs(const std::vector<std::int64_t>& values) {
  std::vector<ValueRun> runs;
  for (const std::int64_t value : values) runs.push_back({value, 1});
  sort_and_merge(runs);
  return runs;
}

TEST_CASE("a sketch's percentiles are within 0.05 % of the exact ones", "[unit][sketch]") {
  using Draw = std::function<double(RandomStream&)>;
  const std::vector<Draw> draws = {
      [](RandomStream& r) { return r.exponential(3e8); },                  // TTFT-like, ns
      [](RandomStream& r) { return r.lognormal(std::log(2e10), 2.5); },    // a long tail
      [](RandomStream& r) { return r.uniform() * 5000; },                  // about the exact range
      [](RandomStream& r) { return r.uniform() < 0.7 ? 13e6 : 9e9; },      // two lumps
      [](RandomStream& r) { return std::pow(10, 18 * r.uniform()); },      // every magnitude
      [](RandomStream&) { return 0.0; },
  };
  for (std::size_t kind = 0; kind < draws.size(); ++kind) {
    RandomStream random(11, "sketch-test", kind);
    ValueSketch sketch;
    std::vector<std::int64_t> values;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(std::llround(draws[kind](random)));
      sketch.add(values.back());
    }
    const std::vector<ValueRun> runs = as_runs(values);
    INFO("distribution " << kind);
    for (double q = 0; q <= 100; q += 0.25) {
      const double exact = percentile(runs, q);
      INFO("percentile " << q);
      CHECK(std::abs(sketch.percentile(q) - exact) <= exact * ValueSketch::kRelativeError);
    }
    if (kind == 4) continue;  // squares beyond what either form holds
    const Distribution d = sketch.distribution(1e6);
    const Distribution exact = distribution_of(runs, 1e6);
    CHECK(d.count == exact.count);
    CHECK(d.mean == exact.mean);
    CHECK(d.std == exact.std);
    CHECK(d.min == exact.min);
    CHECK(d.max == exact.max);
  }
}

TEST_CASE("values below 2048 come back exactly; the bucket edges are where they should be",
          "[unit][sketch]") {
  ValueSketch small;
  for (std::int64_t v = 0; v < 2048; ++v) small.add(v);
  for (std::int64_t v = 0; v < 2048; ++v) {
    CHECK(small.percentile(100.0 * static_cast<double>(v) / 2047) == Approx(v).margin(1e-9));
  }
  // 2048 and 2049 share a bucket, 2050 begins the next: seen between a minimum and a maximum.
  ValueSketch edge;
  edge.add(0);
  edge.add(2048);
  edge.add(2049);
  edge.add(2050);
  edge.add(4'000'000'000);
  CHECK(edge.percentile(25) == 2048.5);
  CHECK(edge.percentile(50) == 2048.5);
  CHECK(edge.percentile(75) == 2050.5);
  CHECK_THROWS_AS(edge.add(-1), InternalError);
  CHECK_THROWS_AS(ValueSketch().percentile(50), InternalError);
  CHECK(ValueSketch().distribution(1).mean == 0);
}

TEST_CASE("sketches of parts add up to the sketch of the whole", "[unit][sketch]") {
  RandomStream random(5, "sketch-merge");
  ValueSketch whole, first, second, merged;
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t value = std::llround(random.lognormal(15, 3));
    const std::int64_t count = random.uniform_int(1, 200);
    whole.add(value, count);
    (i % 3 == 0 ? first : second).add(value, count);
  }
  merged.merge(second);
  merged.merge(first);
  merged.merge(ValueSketch());
  const Distribution a = whole.distribution(1e6), b = merged.distribution(1e6);
  CHECK(a.count == b.count);
  CHECK(a.mean == b.mean);
  CHECK(a.std == b.std);
  CHECK(a.min == b.min);
  CHECK(a.max == b.max);
  for (double q = 0; q <= 100; q += 0.5) CHECK(whole.percentile(q) == merged.percentile(q));
}

}  // namespace

TEST_CASE("values added together count as if added one by one", "[unit][metrics]") {
  std::vector<std::int64_t> values;
  RandomStream random(3, "sketch");
  std::int64_t value = 12'000'000;
  for (int i = 0; i < 5000; ++i) {
    value += i % 97 == 0 ? -40'000 : static_cast<std::int64_t>(random.uniform() * 900);
    values.push_back(i % 501 == 0 ? i : value);
  }
  ValueSketch one_by_one, together;
  for (const std::int64_t v : values) one_by_one.add(v, 7);
  together.add_all(values.size(), 7, [&](std::size_t i) { return values[i]; });
  const Distribution a = one_by_one.distribution(1.0), b = together.distribution(1.0);
  REQUIRE(a.mean == b.mean);
  REQUIRE(a.std == b.std);
  for (double q = 0; q <= 100; q += 0.5) REQUIRE(one_by_one.percentile(q) == together.percentile(q));
  REQUIRE(one_by_one.count() == together.count());
}

TEST_CASE("values on both sides of an octave, added together, find their buckets", "[unit][metrics]") {
  const std::int64_t octave = std::int64_t{1} << 23;
  for (const std::int64_t edge : {octave, std::int64_t{2048}, std::int64_t{4096}}) {
    ValueSketch one_by_one, together;
    const auto value_of = [&](std::size_t i) { return edge - edge / 3 + static_cast<std::int64_t>(i) * edge / 500; };
    for (std::size_t i = 0; i < 500; ++i) one_by_one.add(value_of(i), 3);
    together.add_all(500, 3, value_of);
    for (double q = 0; q <= 100; q += 0.5) {
      REQUIRE(one_by_one.percentile(q) == together.percentile(q));
    }
    REQUIRE(one_by_one.moments(1.0).std == together.moments(1.0).std);
  }
}

}  // namespace headway
