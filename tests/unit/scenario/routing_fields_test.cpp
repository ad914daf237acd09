// cluster.router_options, cluster.admission, slo.classes, workload.tenants.
#include <cmath>

#include "sim/core/errors.h"
#include "sim/routing/router.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

constexpr const char* kSessions =
    R"("workload": {"num_prompts": 10, "sessions": {"turns": 2, "new_input_len": 9}})";
constexpr const char* kTenants =
    R"("workload": {"num_prompts": 10, "tenants": [{"share": 3}, {"share": 1, "priority": 2}]})";
constexpr const char* kPlain = R"("workload": {"num_prompts": 10})";
constexpr const char* kTrace = R"("workload": {"trace": "azure-2023-conv"})";

std::string scenario(const std::string& more, const std::string& workload = kPlain) {
  return "{\"model\": \"qwen3-14b\", \"gpu\": \"h100-sxm\",\n" + workload + ",\n" + more + "}";
}

InputError::Parts refusal(const std::string& text) {
  try {
    parse_scenario(text, "test.json");
  } catch (const InputError& error) {
    return error.parts();
  }
  FAIL("accepted: " << text);
  return {};
}

void check_refused(const std::string& text, const std::string& place, const std::string& found,
                   const std::string& expected) {
  INFO(text);
  const InputError::Parts parts = refusal(text);
  CHECK(parts.file == "test.json");
  CHECK_THAT(parts.place, ContainsSubstring(place));
  CHECK_THAT(parts.found, ContainsSubstring(found));
  CHECK_THAT(parts.expected, ContainsSubstring(expected));
}

}  // namespace

TEST_CASE("a router's options have its defaults, and the scenario goes over them",
          "[unit][scenario]") {
  CHECK(parse_scenario(scenario(R"("name": "x")"), "x.json").cluster.router_options.empty());
  const Scenario s = parse_scenario(
      scenario(R"("cluster": {"router": "cache-aware", "router_options": {"cache_threshold": 0.5}})",
               kSessions),
      "x.json");
  CHECK(s.cluster.router_options.at("cache_threshold") == 0.5);
  CHECK(s.cluster.router_options.at("balance_abs_threshold") == 64);
  CHECK(s.cluster.router_options.at("max_tree_tokens") == 1 << 24);
  const Scenario again = parse_scenario(to_json_text(s), "x.json");
  CHECK(again.cluster.router_options == s.cluster.router_options);
  CHECK(to_json_text(again) == to_json_text(s));
}

TEST_CASE("every router's options may be given at their documented defaults", "[unit][scenario]") {
  std::size_t documented = 0;
  for (const FieldDoc& doc : scenario_fields()) {
    if (!doc.key.starts_with("cluster.router_options.")) continue;
    ++documented;
    const std::vector<Assignment> sets{{"cluster.router", doc.help.substr(0, doc.help.find(':'))},
                                       {doc.key, doc.default_value}};
    CHECK_NOTHROW(parse_scenario(scenario(R"("name": "x")", kSessions), "x.json", sets));
  }
  CHECK(documented == find_router("cache-aware").options.size());
}

TEST_CASE("router options that are wrong", "[unit][scenario]") {
  const auto cluster = [](const std::string& router, const std::string& options) {
    return scenario("\"cluster\": {\"router\": \"" + router + "\", \"router_options\": " + options +
                        "}", kSessions);
  };
  check_refused(cluster("cache-aware", R"({"cache_treshold": 0.5})"),
                "cluster.router_options", "unknown key", "cache_threshold");
  check_refused(cluster("cache-aware", R"({"cache_threshold": 1.5})"),
                "cluster.router_options.cache_threshold", "1.5", "0 to 1");
  check_refused(cluster("cache-aware", R"({"balance_abs_threshold": 1.5})"),
                "cluster.router_options.balance_abs_threshold", "1.5", "");
  check_refused(cluster("cache-aware", R"({"eviction_interval_s": null})"),
                "cluster.router_options.eviction_interval_s", "null", "");
  check_refused(cluster("random", R"({"cache_threshold": 0.5})"),
                "cluster.router_options.cache_threshold", "does not read", "random has none");
  check_refused(cluster("random", "[]"), "cluster.router_options", "", "object");
}

TEST_CASE("options of the router that a change replaces are left out", "[unit][scenario]") {
  const std::string text = scenario(
      R"("cluster": {"router": "cache-aware", "router_options": {"cache_threshold": 0.25}})",
      kSessions);
  const auto options = [&](std::vector<Assignment> changes) {
    return parse_scenario(text, "x.json", changes).cluster.router_options;
  };
  CHECK(options({{"cluster.router", "random", "--vary"}}).empty());
  CHECK(options({{"cluster.router", "random", "--set"}}).empty());
  CHECK(options({{"cluster.router", "\"random\"", "--set"}}).empty());  // as a plan's axis has it
  CHECK_THROWS_AS(options({{"cluster.router", "random", "--set"}, {"cluster", "5", "--set"}}),
                  InputError);
  CHECK_NOTHROW(options({{"cluster.router", "random", "--set"},
                         {"cluster", R"({"router_options": {}})", "--set"}}));
  // When its own turn comes it reads them, from the file or from a flag.
  CHECK(options({{"cluster.router", "cache-aware", "--vary"}}).at("cache_threshold") == 0.25);
  const Assignment option{"cluster.router_options.cache_threshold", "0.75", "--set"};
  CHECK(options({option, {"cluster.router", "cache-aware", "--vary"}}).at("cache_threshold") == 0.75);
  CHECK(options({option, {"cluster.router", "random", "--vary"}}).empty());
  // The last of several changes counts.
  CHECK(options({{"cluster.router", "random", "--set"}, {"cluster.router", "cache-aware", "--vary"}})
            .at("cache_threshold") == 0.25);
  // A resolved scenario states every option of its router.
  const std::string resolved = to_json_text(parse_scenario(text, "x.json"));
  const Assignment other{"cluster.router", "round-robin", "--set"};
  CHECK(parse_scenario(resolved, "x.json", {&other, 1}).cluster.router == "round-robin");
}

TEST_CASE("options that no change explains are still refused", "[unit][scenario]") {
  const auto refused = [](const std::string& options, std::vector<Assignment> changes,
                          const std::string& found) {
    const std::string text =
        scenario(R"("cluster": {"router": "cache-aware", "router_options": )" + options + "}",
                 kSessions);
    try {
      parse_scenario(text, "x.json", changes);
      FAIL("read");
    } catch (const InputError& error) {
      CHECK_THAT(error.parts().found, ContainsSubstring(found));
    }
  };
  const Assignment random{"cluster.router", "random", "--set"};
  refused(R"({"cache_treshold": 0.5})", {random}, "unknown key");
  refused("{}", {random, {"cluster.router_options.cache_threshold", "0.5", "--set"}},
          "random does not read");
  refused("{}", {{"cluster.router_options.cache_threshold", "0.5", "--set"}, random},
          "random does not read");
  refused(R"({"cache_threshold": 0.5})", {{"cluster.router", "randum", "--vary"}}, "randum");
  refused(R"({"cache_threshold": 0.5})", {{"cluster", R"({"router": "random", "router_options":
          {"cache_threshold": 0.5}})", "--set"}}, "random does not read");
}

TEST_CASE("a router that needs what the workload lacks", "[unit][scenario]") {
  const auto with = [](const char* router, const char* workload) {
    return scenario("\"cluster\": {\"router\": \"" + std::string(router) + "\"}", workload);
  };
  check_refused(with("cache-aware", kPlain), "cluster.router", "nothing in common", "sessions");
  check_refused(with("session-sticky", kTenants), "cluster.router", "without sessions",
                "session_id");
  check_refused(with("priority", kSessions), "cluster.router", "one priority", "workload.tenants");
  CHECK_NOTHROW(parse_scenario(with("cache-aware", kSessions), "x.json"));
  CHECK_NOTHROW(parse_scenario(with("session-sticky", kSessions), "x.json"));
  CHECK_NOTHROW(parse_scenario(with("priority", kTenants), "x.json"));
  CHECK_NOTHROW(parse_scenario(with("priority", kTrace), "x.json"));  // only reading it will tell
}

TEST_CASE("limits of admission", "[unit][scenario]") {
  const Scenario none = parse_scenario(scenario(R"("name": "x")"), "x.json");
  CHECK_FALSE(none.cluster.admission.limits());
  CHECK_FALSE(none.cluster.admission.max_queue);
  CHECK(std::isinf(none.cluster.admission.max_wait_s));
  const Scenario s = parse_scenario(
      scenario(R"("cluster": {"admission": {"max_outstanding": 64, "max_queue": 0,
                  "max_wait_s": 2.5, "shed_priority_above": -1}})"), "x.json");
  CHECK(s.cluster.admission.max_outstanding == 64);
  CHECK(*s.cluster.admission.max_queue == 0);
  CHECK(s.cluster.admission.max_wait_s == 2.5);
  CHECK(*s.cluster.admission.shed_priority_above == -1);
  CHECK(to_json_text(parse_scenario(to_json_text(s), "x.json")) == to_json_text(s));
  const auto refused = [](const std::string& options, const std::string& key) {
    check_refused(scenario("\"cluster\": {\"admission\": " + options + "}"),
                  "cluster.admission" + key, "", "");
  };
  refused(R"({"max_outstanding": -1})", ".max_outstanding");
  refused(R"({"max_wait_s": 0})", ".max_wait_s");
  refused(R"({"max_queue": 1.5})", ".max_queue");
  refused(R"({"max_que": 1})", "");
}

TEST_CASE("classes of requests have the block's limits where they have none of their own",
          "[unit][scenario]") {
  const Scenario s = parse_scenario(
      scenario(R"("slo": {"classes": [{"name": "urgent", "priority": [-2, 0], "ttft_ms": 200},
                                      {"name": "batch", "tenant": 1, "ttft_ms": "inf"},
                                      {"name": "paying", "tenant": 2, "priority": 4}],
                          "ttft_ms": 1000, "tpot_ms": 50})"), "x.json");
  REQUIRE(s.slo.classes.size() == 3);
  CHECK(s.slo.classes[0].first_priority == -2);
  CHECK(s.slo.classes[0].last_priority == 0);
  CHECK(*s.slo.classes[0].limits.ttft_ms == 200);
  CHECK(*s.slo.classes[0].limits.tpot_ms == 50);
  CHECK_FALSE(s.slo.classes[0].limits.e2el_ms);
  CHECK(std::isinf(*s.slo.classes[1].limits.ttft_ms));
  CHECK(*s.slo.classes[1].tenant == 1);
  CHECK(s.slo.classes[2].first_priority == 4);
  CHECK(to_json_text(parse_scenario(to_json_text(s), "x.json")) == to_json_text(s));
}

TEST_CASE("classes that are wrong", "[unit][scenario]") {
  const auto refused = [](const std::string& classes, const std::string& place,
                          const std::string& found, const std::string& expected = "") {
    check_refused(scenario("\"slo\": {\"classes\": " + classes + "}"), place, found, expected);
  };
  refused(R"({"name": "a"})", "slo.classes", "", "a list");
  refused(R"([{"name": "a", "ttft_ms": 5}])", "slo.classes[0]", "all requests", "priority");
  refused(R"([{"name": "a", "tenant": null}])", "slo.classes[0]", "all requests");
  refused(R"([{"name": "", "tenant": 1}])", "slo.classes[0].name", "empty");
  refused(R"([{"name": "a", "tenant": 1}, {"name": "a", "tenant": 2}])", "slo.classes[1].name",
          "a second time");
  refused(R"([{"name": "a", "priority": [3, 1]}])", "slo.classes[0].priority", "above");
  refused(R"([{"name": "a", "priority": [3]}])", "slo.classes[0].priority", "");
  refused(R"([{"name": "a", "tenant": -1}])", "slo.classes[0].tenant", "-1");
  refused(R"([{"name": "a", "tenant": 1, "ttft_ms": "nan"}])", "slo.classes[0].ttft_ms", "nan");
  refused(R"([{"name": "a", "tenant": 1, "ttft_ms": 0}])", "slo.classes[0].ttft_ms", "0");
  check_refused(scenario(R"("slo": {"by_tenant": true, "classes": [{"name": "a", "tenant": 1}]})"),
                "slo.by_tenant", "classes", "either");
}

TEST_CASE("tenants of a generated workload", "[unit][scenario]") {
  const Scenario s = parse_scenario(scenario(R"("name": "x")", kTenants), "x.json");
  REQUIRE(s.workload.tenants.size() == 2);
  CHECK(s.workload.tenants[0].share == 3);
  CHECK(s.workload.tenants[1].priority == 2);
  CHECK(to_json_text(parse_scenario(to_json_text(s), "x.json")) == to_json_text(s));
  const auto refused = [](const std::string& tenants, const std::string& place) {
    check_refused(scenario("\"name\": \"x\"", "\"workload\": {\"num_prompts\": 10, \"tenants\": " +
                                                  tenants + "}"), place, "", "");
  };
  refused(R"([{"priority": 1}])", "workload.tenants[0]");
  refused(R"([{"share": 0}])", "workload.tenants[0].share");
  refused(R"({"share": 1})", "workload.tenants");
  check_refused(scenario(R"("name": "x")", R"("workload": {"trace": "azure-2023-conv",
                            "tenants": [{"share": 1}]})"), "workload.tenants", "", "");
}
