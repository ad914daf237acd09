// Keys by which replicas come, go and fail: what they write, what is refused.
#include <cmath>

#include "sim/core/errors.h"
#include "sim/scenario/parse.h"
#include "sim/scenario/pools.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::string with(const std::string& cluster, const std::string& slo = "{}") {
  return "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100-sxm\",\n \"slo\": " + slo +
         ",\n \"cluster\": " + cluster +
         ",\n \"workload\": {\"num_prompts\": 10, \"request_rate\": 1}}";
}

Scenario parse(const std::string& cluster, const std::string& slo = "{}") {
  return parse_scenario(with(cluster, slo), "x.json");
}

void refused(const std::string& cluster, const std::string& place, const std::string& what) {
  INFO(cluster);
  try {
    parse(cluster);
  } catch (const InputError& error) {
    CHECK_THAT(error.parts().place, ContainsSubstring(place));
    CHECK_THAT(error.what(), ContainsSubstring(what));
    return;
  }
  FAIL("accepted");
}

}  // namespace

TEST_CASE("what is left out asks for nothing, and is not written", "[unit][scenario][fleet]") {
  const Scenario s = parse(R"({"replicas": 2})");
  CHECK_FALSE(fleet_changes(s));
  const std::string text = to_json_text(s);
  for (const char* key : {"startup_s", "failures", "on_failure", "autoscaler"}) {
    CHECK(text.find(key) == std::string::npos);
  }
}

TEST_CASE("every key of a fleet that changes reads as it was written", "[unit][scenario][fleet]") {
  const Scenario s = parse(R"({"replicas": 2, "startup_s": 30, "on_failure": "fail",
    "failures": [{"replica": 1, "at_s": 5, "down_s": 2.5}, {"replica": 7, "at_s": 6}],
    "failures_random": {"mtbf_s": 1000, "mttr_s": 10},
    "autoscaler": {"max_replicas": 8, "metric": "queue", "target": 3}})");
  const LifecycleOptions& o = s.cluster.lifecycle;
  CHECK(o.startup_s == 30);
  CHECK(o.on_failure == "fail");
  REQUIRE(o.failures.size() == 2);
  CHECK(o.failures[0].down_s == 2.5);
  CHECK(o.failures[1].replica == 7);  // one that the autoscaler may start
  CHECK(std::isinf(o.failures[1].down_s));
  CHECK(o.failures_random->mttr_s == 10);
  REQUIRE(o.autoscaler);
  CHECK(o.autoscaler->interval_s == 15);  // Kubernetes' own
  CHECK(o.autoscaler->scale_down_cooldown_s == 300);
  CHECK(o.autoscaler->tolerance == 0.1);
  CHECK(fleet_changes(s));
  CHECK(replicas_fail(s));
  const std::string text = to_json_text(s);
  CHECK(to_json_text(parse_scenario(text, "x.json")) == text);
}

TEST_CASE("pools have start-up times and autoscalers of their own", "[unit][scenario][fleet]") {
  const Scenario s = parse(R"({"startup_s": 30, "pools": [{"name": "a", "replicas": 0, "startup_s": 5,
    "autoscaler": {"max_replicas": 8, "target": 3}}, {"name": "b", "replicas": 0}]})");
  const std::vector<Scenario> pools = pool_scenarios(s);
  CHECK(pools[0].cluster.lifecycle.startup_s == 5);
  CHECK(pools[1].cluster.lifecycle.startup_s == 30);
  CHECK(pools[0].cluster.lifecycle.autoscaler);
  CHECK_FALSE(pools[1].cluster.lifecycle.autoscaler);
  CHECK(fleet_changes(s));
  const std::string text = to_json_text(s);
  CHECK(to_json_text(parse_scenario(text, "x.json")) == text);
}

TEST_CASE("fleets that cannot be are refused with their place", "[unit][scenario][fleet]") {
  refused(R"({"replicas": 2, "failures": [{"replica": 2, "at_s": 1}]})",
          "cluster.failures[0].replica", "0 to 1");
  refused(R"({"pools": [{"name": "a"}], "failures": [{"replica": 1, "at_s": 1}]})",
          "cluster.failures[0].replica", "0 to 0");
  refused(R"({"failures": [{"replica": 0}]})", "cluster.failures[0]", "no \"at_s\"");
  refused(R"({"failures": [{"replica": 0, "at_s": -1}]})", "cluster.failures[0].at_s", "-1");
  refused(R"({"failures": [{"replica": 0, "at_s": "nan"}]})", "cluster.failures[0].at_s", "nan");
  refused(R"({"failures": {"replica": 0}})", "cluster.failures", "a list of failures");
  refused(R"({"failures_random": {"mtbf_s": 0, "mttr_s": 1}})", "cluster.failures_random.mtbf_s",
          "0.001");
  refused(R"({"failures_random": {"mtbf_s": 10}})", "cluster.failures_random", "no \"mttr_s\"");
  refused(R"({"on_failure": "ignore"})", "cluster.on_failure", "retry");
  refused(R"({"startup_s": "inf"})", "cluster.startup_s", "inf");
  refused(R"({"autoscaler": {"max_replicas": 2, "min_replicas": 3, "target": 1}})",
          "cluster.autoscaler", "min_replicas 3 above max_replicas 2");
  refused(R"({"autoscaler": {"max_replicas": 2, "min_replicas": 0, "target": 1}})",
          "cluster.autoscaler.min_replicas", "1 to");
  refused(R"({"autoscaler": {"max_replicas": 2}})", "cluster.autoscaler", "no \"target\"");
  refused(R"({"autoscaler": {"max_replicas": 2, "target": 0}})", "cluster.autoscaler.target",
          "above 0");
  refused(R"({"autoscaler": {"max_replicas": 2, "target": 1, "metric": "cpu"}})",
          "cluster.autoscaler.metric", "utilisation");
  refused(R"({"autoscaler": {"max_replicas": 2, "target": 1, "metric": "slo"}})",
          "cluster.autoscaler.metric", "a limit in slo");
  refused(R"({"autoscaler": {"max_replicas": 2, "target": 1}, "pools": [{"name": "a"}]})",
          "cluster.autoscaler", "cluster.pools[i].autoscaler");
  CHECK_NOTHROW(parse(R"({"autoscaler": {"max_replicas": 2, "target": 1, "metric": "slo"}})",
                      R"({"ttft_ms": 100})"));
}
