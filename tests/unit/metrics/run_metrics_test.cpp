#include "sim/metrics/run_metrics.h"

#include <numeric>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

SimTime at(double seconds) { return SimTime::from_seconds(seconds); }

TEST_CASE("INV-3: the parts of every latency sum to E2EL, and so do their means", "[unit]") {
  RunMetrics metrics;
  for (int i = 0; i < 7; ++i) metrics.on_arrival(static_cast<std::uint64_t>(i), at(0.1 * i));
  for (int i = 0; i < 7; ++i) {
    RequestRecord r = finished(static_cast<std::uint64_t>(i), 0.1 * i, 0.1 * i + 0.013,
                               0.1 * i + 0.57, 0.1 * i + 2.0 + 0.3 * i, 100, 3 + i);
    // Move a part of decode to interference, preemption and host.
    r.split[2] = SimTime::from_ns(1'000'003);
    r.split[4] = SimTime::from_ns(777);
    r.split[5] = SimTime::from_ns(13);
    r.split[3] -= SimTime::from_ns(1'000'003 + 777 + 13);
    metrics.on_finish(r);
  }
  metrics.on_end(at(5));
  const RunSummary s = metrics.result();
  const double sum = std::accumulate(s.attribution_ms.begin(), s.attribution_ms.end(), 0.0);
  CHECK(sum == Approx(s.e2el_ms.mean).epsilon(1e-12));
  CHECK(s.attribution_ms[0] == Approx(13.0));
  CHECK(s.attribution_ms[1] == Approx(557.0));
  CHECK(s.attribution_ms[5] == Approx(13e-6));
}

TEST_CASE("INV-3: a record out of order, or whose parts do not sum, is our fault", "[unit]") {
  RunMetrics metrics;
  metrics.on_arrival(0, at(0));
  RequestRecord r = finished(0, 0, 0.1, 0.2, 1, 10, 5);
  r.split[0] += SimTime::from_ns(1);
  CHECK_THROWS_AS(metrics.on_finish(r), InternalError);
  CHECK_THROWS_AS(metrics.on_finish(finished(0, 0.5, 0.1, 0.7, 1, 10, 5)), InternalError);
  CHECK_THROWS_AS(metrics.on_finish(finished(0, 0, 0.3, 0.2, 1, 10, 5)), InternalError);
}

TEST_CASE("INV-1: a request may not leave before it came", "[unit]") {
  RunMetrics metrics;
  CHECK_THROWS_AS(metrics.on_finish(finished(0, 0, 0, 1, 1, 1, 1)), InternalError);
}

TEST_CASE("throughputs run from the first arrival to the last finish", "[unit]") {
  RunMetrics metrics({{1000.0, {}, {}}, false});
  metrics.on_arrival(0, at(10));
  metrics.on_arrival(1, at(11));
  metrics.on_arrival(2, at(12));
  metrics.on_finish(rejected(2, 12, 12, "longer than max_model_len"));
  metrics.on_finish(finished(0, 10, 10, 10.5, 14, 100, 8));
  metrics.on_finish(finished(1, 11, 12, 13, 15, 300, 12));
  metrics.on_end(at(16));
  const RunSummary s = metrics.result();
  CHECK(s.arrived == 3);
  CHECK(s.completed == 2);
  CHECK(s.failed == 1);
  CHECK(s.duration_s == 5);
  CHECK(s.simulated_s == 16);
  CHECK(s.arrival_rate == 1);  // two gaps in two seconds
  CHECK(s.request_throughput == Approx(0.4));
  CHECK(s.output_throughput == 4);
  CHECK(s.total_token_throughput == 84);
  CHECK(s.request_goodput.value() == Approx(0.2));
  CHECK(s.slo_attainment.value() == Approx(1.0 / 3));
  CHECK(s.verdict.peak_in_system == 3);
  // 3 in flight at most: 1 s x1, 1 s x2, (rejected at once), 2 s x2, 1 s x1, then none to t = 16.
  CHECK(s.verdict.mean_in_system == Approx((1 + 2 + 4 + 1) / 6.0));
}

TEST_CASE("Little's law: requests in the system = arrival rate x mean E2EL", "[unit]") {
  RunMetrics metrics;
  // One a second for 100 s, each 2.5 s in the system: the k-th leaves between arrivals.
  const auto leave = [&](int i) {
    metrics.on_finish(finished(static_cast<std::uint64_t>(i), i, i, i + 1, i + 2.5, 1, 2));
  };
  for (int i = 0; i < 100; ++i) {
    if (i >= 3) leave(i - 3);
    metrics.on_arrival(static_cast<std::uint64_t>(i), at(i));
  }
  for (int i = 97; i < 100; ++i) leave(i);
  metrics.on_end(at(101.5));
  const RunSummary s = metrics.result();
  CHECK(s.verdict.mean_in_system == Approx(s.completed / s.duration_s * s.e2el_ms.mean / 1e3));
  CHECK(s.verdict.mean_in_system == Approx(100 * 2.5 / 101.5));
}

TEST_CASE("a run without a finished request reads zero", "[unit]") {
  RunMetrics metrics({{1000.0, {}, {}}, true});
  metrics.on_arrival(0, at(0));
  metrics.on_finish(rejected(0, 0, 0, "no"));
  metrics.on_end(at(0));
  const RunSummary s = metrics.result();
  CHECK(s.completed == 0);
  CHECK(s.request_throughput == 0);
  CHECK(s.request_goodput.value() == 0);
  CHECK(s.slo_attainment.value() == 0);
  CHECK(s.e2el_ms.p99 == 0);
  CHECK(metrics.requests().size() == 1);
  CHECK(RunMetrics().result().arrived == 0);
}

TEST_CASE("gaps announced in pieces give one pooled distribution", "[unit]") {
  LatencyMetrics pieces, whole;
  // More runs than are kept before merging: only 1000 distinct gaps remain.
  for (std::int64_t i = 0; i < 300'000; ++i) {
    pieces.on_token_gaps(SimTime::from_ns(1000 + (i * 7919) % 1000), 1 + i % 3, at(1));
  }
  for (std::int64_t gap = 0; gap < 1000; ++gap) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < 300'000; ++i) count += (i * 7919) % 1000 == gap ? 1 + i % 3 : 0;
    whole.on_token_gaps(SimTime::from_ns(1000 + gap), count, at(1));
    if (gap == 20) break;  // the rest is checked by count below
  }
  const Distribution d = pieces.distribution_ms(LatencyMetric::kItl);
  CHECK(d.count == 600'000);
  CHECK(d.min == Approx(0.001));
  CHECK(d.max == Approx(0.001999));
  // Below gap 1021 lie exactly the occurrences counted one by one.
  const double share = static_cast<double>(whole.distribution_ms(LatencyMetric::kItl).count) / 6e5;
  CHECK(pieces.percentile_ms(LatencyMetric::kItl, 100 * share - 1e-3) <= 0.001020);
  CHECK(pieces.percentile_ms(LatencyMetric::kItl, 100 * share + 1e-3) >= 0.001021);
}

// One finished request: some TTFT, length and decode time drawn for it.
RequestRecord drawn_request(std::uint64_t id, RandomStream& random) {
  const double ttft = random.exponential(0.3), decode = random.lognormal(1, 1);
  return finished(id, 0, 0, ttft, ttft + decode, 100,
                  static_cast<int>(random.uniform_int(1, 300)));
}

TEST_CASE("one request more than exact: sketches within 0.1 %, means and std as they were",
          "[unit][sketch]") {
  constexpr std::int64_t kLimit = 4000;
  const LatencyMetric metrics[] = {LatencyMetric::kTtft, LatencyMetric::kTpot, LatencyMetric::kItl,
                                   LatencyMetric::kE2el};
  for (const std::int64_t requests : {kLimit, kLimit + 1, 3 * kLimit}) {
    RandomStream random(3, "switch-over");
    LatencyMetrics exact, bounded(kLimit);
    for (std::int64_t i = 0; i < requests; ++i) {
      for (LatencyMetrics* m : {&exact, &bounded}) m->on_arrival(static_cast<std::uint64_t>(i), at(0));
      const RequestRecord r = drawn_request(static_cast<std::uint64_t>(i), random);
      const SimTime gap = SimTime::from_seconds(random.exponential(0.01));
      for (LatencyMetrics* m : {&exact, &bounded}) {
        m->on_token_gaps(gap, 7, at(1));
        m->on_finish(r);
      }
    }
    INFO(requests << " requests");
    CHECK(bounded.completed() == requests);
    for (const LatencyMetric metric : metrics) {
      REQUIRE(exact.exact(metric));
      CHECK(bounded.exact(metric) == (requests <= kLimit));
      const Distribution a = exact.distribution_ms(metric), b = bounded.distribution_ms(metric);
      CHECK(b.count == a.count);
      CHECK(b.mean == Approx(a.mean).epsilon(1e-9));
      CHECK(b.std == Approx(a.std).epsilon(1e-9));
      CHECK(b.min == Approx(a.min).epsilon(1e-6));
      CHECK(b.max == Approx(a.max).epsilon(1e-9));
      for (const double q : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
        INFO("percentile " << q);
        CHECK(bounded.percentile_ms(metric, q) ==
              Approx(exact.percentile_ms(metric, q)).epsilon(0.001));
      }
      CHECK(b.p99 == Approx(a.p99).epsilon(0.001));
      CHECK(bounded.cdf_ms(metric, 100)[90].first == Approx(a.p90).epsilon(0.001));
    }
  }
}

TEST_CASE("gaps of too many distinct lengths go to a sketch by themselves", "[unit][sketch]") {
  LatencyMetrics exact, bounded(1000, 5000);
  for (std::int64_t i = 0; i < 200'000; ++i) {
    const SimTime gap = SimTime::from_ns(10'000'000 + (i * 7919) % 100'003);
    exact.on_token_gaps(gap, 2, at(1));
    bounded.on_token_gaps(gap, 2, at(1));
  }
  CHECK(exact.exact(LatencyMetric::kItl));
  CHECK_FALSE(bounded.exact(LatencyMetric::kItl));
  CHECK(bounded.exact(LatencyMetric::kTtft));
  const Distribution a = exact.distribution_ms(LatencyMetric::kItl);
  const Distribution b = bounded.distribution_ms(LatencyMetric::kItl);
  CHECK(b.count == 400'000);
  CHECK(b.mean == a.mean);
  CHECK(b.std == a.std);
  CHECK(b.p50 == Approx(a.p50).epsilon(0.001));
}

TEST_CASE("peaks over seconds, weeks apart and across the pages they are kept in", "[unit]") {
  SecondPeaks peaks;
  peaks.on_arrival(0, at(100));
  peaks.on_tokens(5, at(100.5));
  peaks.on_tokens(4, at(100 + 1024.2));
  peaks.on_tokens(3, at(100 + 1024.9));
  peaks.on_tokens(6, at(100 + 2e6));
  peaks.on_finish(finished(0, 100, 100, 100.5, 100 + 1023.5, 1, 2));  // seconds 0..1023
  peaks.on_finish(finished(1, 1123.2, 1124, 1125, 1126, 1, 2));       // 1023..1026
  peaks.on_finish(finished(2, 1124.1, 1125, 1126, 2e6, 1, 2));        // from 1024
  CHECK(peaks.max_output_tokens() == 7);
  CHECK(peaks.max_concurrent_requests() == 2);
}

}  // namespace
}  // namespace headway
