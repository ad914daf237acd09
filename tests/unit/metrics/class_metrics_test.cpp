#include "sim/metrics/class_metrics.h"

#include "sim/metrics/run_metrics.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

using namespace headway;

namespace {

// First token after `ttft_s`, then 10 more, one a tenth of a second.
RequestRecord answered(std::uint64_t id, std::int32_t tenant, std::int32_t priority, double ttft_s) {
  RequestRecord r = finished(id, 0, 0, ttft_s, ttft_s + 1, 100, 11);
  r.tenant = tenant;
  r.priority = priority;
  return r;
}

SloClass of_priorities(const char* name, std::int32_t first, std::int32_t last, SloLimits limits) {
  return {.name = name, .first_priority = first, .last_priority = last, .limits = limits};
}

}  // namespace

TEST_CASE("a request is of the first class that holds it, and judged by its limits",
          "[unit][metrics]") {
  const std::vector<SloClass> classes{
      of_priorities("urgent", 0, 0, {200.0, {}, {}}),
      {.name = "paying", .tenant = 3, .limits = {1000.0, {}, {}}},
      of_priorities("batch", 5, 9, {})};
  ClassMetrics metrics({500.0, {}, {}}, classes, false);
  metrics.on_finish(answered(0, 3, 0, 0.2));   // urgent, though of tenant 3: met
  metrics.on_finish(answered(1, 1, 0, 0.3));   // urgent: missed
  metrics.on_finish(answered(2, 3, 7, 0.9));   // paying: met
  metrics.on_finish(answered(3, 1, 7, 60.0));  // batch
  metrics.on_finish(answered(4, 1, 4, 0.5));   // none of them: met
  metrics.on_finish(answered(5, 1, 4, 0.6));   // missed
  RequestRecord refused = rejected(6, 0, 1, "queue full");
  refused.priority = 0;
  metrics.on_finish(refused);                  // urgent: missed
  const auto all = metrics.result(10.0);
  REQUIRE(all.size() == 4);
  CHECK(all[0].name == "urgent");
  CHECK(all[0].requests == 3);
  CHECK(all[0].completed == 2);
  CHECK(*all[0].slo_attainment == Approx(1.0 / 3));
  CHECK(*all[0].request_goodput == Approx(0.1));
  CHECK(all[0].mean_ttft_ms == Approx(250));
  CHECK(all[0].p99_ttft_ms == Approx(200 + 0.99 * 100).epsilon(0.001));
  CHECK(all[0].p99_tpot_ms == Approx(100).epsilon(0.001));
  CHECK(all[1].name == "paying");
  CHECK(*all[1].slo_attainment == 1.0);
  CHECK(all[2].requests == 1);
  CHECK_FALSE(all[2].slo_attainment);
  CHECK_FALSE(all[2].request_goodput);
  CHECK(all[3].name == "others");
  CHECK(*all[3].slo_attainment == 0.5);
  CHECK(all[3].p99_e2el_ms == Approx(1500 + 0.99 * 100).epsilon(0.001));
}

TEST_CASE("by tenant: a row each, in order of number, under the common limits", "[unit][metrics]") {
  ClassMetrics metrics({{}, 100.0, {}}, {}, true);
  for (int i = 0; i < 6; ++i)
    metrics.on_finish(answered(static_cast<std::uint64_t>(i), 2 - i % 3, 0, 1));
  const auto all = metrics.result(2.0);
  REQUIRE(all.size() == 3);
  CHECK(all[0].name == "tenant 0");
  CHECK(all[2].requests == 2);
  CHECK(*all[2].request_goodput == 1.0);
  // Any number of tenants, in bounded memory.
  ClassMetrics many({}, {}, true);
  for (int i = 0; i < 150; ++i) many.on_finish(answered(static_cast<std::uint64_t>(i), i, 0, 1));
  REQUIRE(many.result(1.0).size() == ClassMetrics::kTenants + 1);
  CHECK(many.result(1.0).back().requests == 50);
}

TEST_CASE("without classes there are no rows, and a class without requests has no attainment",
          "[unit][metrics]") {
  ClassMetrics none({100.0, {}, {}}, {}, false);
  none.on_finish(answered(0, 1, 1, 1));
  CHECK(none.result(1.0).empty());
  ClassMetrics idle({}, {of_priorities("urgent", 0, 0, {200.0, {}, {}})}, false);
  REQUIRE(idle.result(0).size() == 1);
  CHECK_FALSE(idle.result(0)[0].slo_attainment);
  CHECK(*idle.result(0)[0].request_goodput == 0.0);
}

TEST_CASE("the run's attainment judges each request by its class", "[unit][metrics]") {
  MetricsOptions options;
  options.slo.ttft_ms = 500.0;
  options.classes = {of_priorities("urgent", 0, 0, {200.0, {}, {}})};
  RunMetrics metrics(options);
  for (std::uint64_t i = 0; i < 4; ++i) metrics.on_arrival(i, SimTime());
  metrics.on_finish(answered(0, 0, 0, 0.3));
  metrics.on_finish(answered(1, 0, 0, 0.1));
  metrics.on_finish(answered(2, 0, 1, 0.3));
  metrics.on_finish(answered(3, 0, 1, 0.6));
  metrics.on_end(SimTime::from_seconds(1.6));
  const RunSummary s = metrics.result();
  CHECK(*s.slo_attainment == 0.5);
  CHECK(*s.ttft_attainment == 0.5);
  CHECK(*s.request_goodput == Approx(2 / 1.6));
  REQUIRE(s.classes.size() == 2);
  CHECK(*s.classes[0].slo_attainment == 0.5);
  // Limits of the classes alone make an attainment, too.
  options.slo = {};
  RunMetrics only(options);
  only.on_arrival(0, SimTime());
  only.on_finish(answered(0, 0, 0, 0.3));
  CHECK(*only.result().slo_attainment == 0.0);
  CHECK(*only.result().request_goodput == 0.0);
}
