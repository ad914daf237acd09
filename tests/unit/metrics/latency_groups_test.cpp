#include "sim/metrics/latency_groups.h"

#include "sim/metrics/latency_curves.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

constexpr auto kQueue = static_cast<std::size_t>(LatencyPart::kQueue);
constexpr auto kDecode = static_cast<std::size_t>(LatencyPart::kDecode);

double total(const LatencyGroup& group) {
  double sum = 0;
  for (const double ms : group.mean_ms) sum += ms;
  return sum;
}

TEST_CASE("latency groups: the slowest are told apart from the rest", "[unit]") {
  // 990 requests of 1 s, all of it decode after an instant; 10 that queue 9 s more.
  LatencyGroups groups;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double queue = i % 100 == 7 ? 9 : 0;
    groups.on_finish(finished(i, 0, queue, queue, queue + 1, 10, 5));
  }
  groups.on_finish(rejected(1000, 0, 500, "too long"));  // not measured
  const std::vector<LatencyGroup> out = groups.groups();
  REQUIRE(out.size() == 4);
  CHECK(out[0].requests == Approx(500));
  CHECK(total(out[0]) == Approx(1000));
  CHECK(out[2].from_share == 0.9);
  CHECK(out[2].mean_ms[kQueue] == Approx(0).margin(1e-9));
  CHECK(out[3].requests == Approx(10));
  CHECK(out[3].mean_ms[kQueue] == Approx(9000));
  CHECK(out[3].mean_ms[kDecode] == Approx(1000));
}

TEST_CASE("latency groups add up to all requests", "[unit]") {
  LatencyGroups groups;
  double sum_ms = 0;
  for (std::uint64_t i = 0; i < 777; ++i) {
    const double seconds = 0.01 * static_cast<double>(i * i % 1009 + 1);
    groups.on_finish(finished(i, 0, seconds / 4, seconds / 2, seconds, 10, 5));
    sum_ms += 1000 * seconds;
  }
  double grouped_ms = 0, requests = 0, before = 0;
  for (const LatencyGroup& group : groups.groups()) {
    grouped_ms += group.requests * total(group);
    requests += group.requests;
    CHECK(total(group) > before);
    before = total(group);
  }
  CHECK(requests == Approx(777));
  CHECK(grouped_ms == Approx(sum_ms));
}

TEST_CASE("latency groups of few requests leave out what holds none", "[unit]") {
  LatencyGroups groups;
  CHECK(groups.groups().empty());
  for (std::uint64_t i = 0; i < 3; ++i) groups.on_finish(finished(i, 0, 0, 0, 1, 10, 5));
  const auto out = groups.groups();  // 1.5 and 1.2 requests; 0.27 and 0.03 are none
  REQUIRE(out.size() == 2);
  CHECK(total(out[1]) == Approx(1000));
}

TEST_CASE("latency curves: shares rise, values are the percentiles", "[unit]") {
  LatencyMetrics latency;
  for (std::uint64_t i = 0; i < 101; ++i) {
    latency.on_arrival(i, SimTime());
    const double seconds = 0.01 * static_cast<double>(i);
    latency.on_finish(finished(i, 0, 0, seconds, seconds + 1, 10, 2));
  }
  const LatencyCurves curves = curves_of(latency);
  REQUIRE(curves.shares.size() == 211);
  const auto& ttft = curves.values_ms[static_cast<std::size_t>(LatencyMetric::kTtft)];
  REQUIRE(ttft.size() == curves.shares.size());
  CHECK(curves.shares.front() == 0);
  CHECK(curves.shares.back() == 1);
  for (std::size_t i = 0; i < ttft.size(); ++i) {
    CHECK(ttft[i] == Approx(1000 * curves.shares[i]));
    if (i > 0) CHECK(curves.shares[i] > curves.shares[i - 1]);
  }
  CHECK(curves.values_ms[static_cast<std::size_t>(LatencyMetric::kItl)].empty());
}

}  // namespace
}  // namespace headway
