// Pools of a cluster: what they inherit, what they write, what is refused.
#include "sim/core/errors.h"
#include "sim/scenario/parse.h"
#include "sim/scenario/pools.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::string with(const std::string& cluster, const std::string& more = "") {
  return "{\"model\": \"llama-3.1-8b\", \"gpu\": \"h100-sxm\",\n"
         " \"engine\": {\"max_num_seqs\": 64, \"max_model_len\": 8192},\n" +
         more + " \"cluster\": " + cluster +
         ",\n \"workload\": {\"num_prompts\": 10, \"request_rate\": 1}}";
}

constexpr const char* kTwo = R"({"router": "least-outstanding", "pools": [
  {"name": "big", "replicas": 3, "parallel": {"tensor_parallel_size": 2}},
  {"name": "small", "gpu": "a100-sxm", "engine": {"max_num_batched_tokens": 4096}}]})";

InputError::Parts refused(const std::string& cluster, std::vector<Assignment> set = {},
                          const std::string& more = "") {
  try {
    parse_scenario(with(cluster, more), "x.json", set);
  } catch (const InputError& error) {
    return error.parts();
  }
  FAIL("accepted: " << cluster);
  return {};
}

}  // namespace

TEST_CASE("a pool is the scenario with its own keys over it", "[unit][scenario][fleet]") {
  const Scenario s = parse_scenario(with(kTwo), "x.json");
  CHECK(s.cluster.replicas == 4);
  const std::vector<Scenario> pools = pool_scenarios(s);
  REQUIRE(pools.size() == 2);
  CHECK(pools[0].cluster.replicas == 3);
  CHECK(pools[0].gpu_name == "h100-sxm");
  CHECK(pools[0].parallel.tensor_parallel_size == 2);
  CHECK(pools[1].gpu_name == "a100-sxm");
  CHECK(pools[1].gpu.memory_bandwidth != pools[0].gpu.memory_bandwidth);
  CHECK(pools[1].parallel.tensor_parallel_size == 1);
  CHECK(pools[1].engine.max_num_batched_tokens == 4096);
  CHECK(pools[1].engine.max_num_seqs == 64);  // a block's keys go over the scenario's, one by one
  CHECK(gpus_of(s) == 3 * 2 + 1);
  CHECK(usd_per_hour(s) == Approx(6 * pools[0].gpu.price_per_hour + pools[1].gpu.price_per_hour));
}

TEST_CASE("another scheduler in a pool brings its settings, under what the scenario says",
          "[unit][scenario][fleet]") {
  const Scenario s = parse_scenario(
      with(R"({"pools": [{"name": "a"}, {"name": "b", "engine": {"scheduler": "vllm-v0"}}]})"), "x");
  const std::vector<Scenario> pools = pool_scenarios(s);
  CHECK(pools[0].engine.enable_chunked_prefill);
  CHECK_FALSE(pools[1].engine.enable_chunked_prefill);
  CHECK(pools[1].engine.max_num_seqs == 64);
}

TEST_CASE("a scenario without pools has one, itself", "[unit][scenario][fleet]") {
  const Scenario s = parse_scenario(with(R"({"replicas": 5})"), "x.json");
  REQUIRE(pool_scenarios(s).size() == 1);
  CHECK(pool_scenarios(s).front().cluster.replicas == 5);
  CHECK(gpus_of(s) == 5);
}

TEST_CASE("pools follow what is changed of the scenario later", "[unit][scenario][fleet]") {
  Scenario s = parse_scenario(with(kTwo), "x.json");
  s.seed = 77;
  s.slo.ttft_ms = 10;
  s.workload.request_rate = 5;
  for (const Scenario& pool : pool_scenarios(s)) {
    CHECK(pool.seed == 77);
    CHECK(pool.slo.ttft_ms == 10.0);
    CHECK(pool.workload.request_rate == 5);
  }
}

TEST_CASE("a resolved scenario with pools reads as itself", "[unit][scenario][fleet]") {
  const std::string text = to_json_text(parse_scenario(with(kTwo), "x.json"));
  const auto count = [&](const std::string& key) {
    int found = 0;
    for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) ++found;
    return found;
  };
  CHECK(count("\"engine\"") == 2);  // the scenario's and that of the one pool that has its own
  CHECK(count("\"parallel\"") == 2);
  CHECK(count("\"precision\"") == 1);
  CHECK(text.find("\"replicas\": 4") == std::string::npos);  // beside pools it would be a mistake
  const Scenario again = parse_scenario(text, "x.json");
  CHECK(to_json_text(again) == text);
  CHECK(pool_scenarios(again)[1].engine.max_num_batched_tokens == 4096);
}

TEST_CASE("a pool's keys are set by number or by name", "[unit][scenario][fleet]") {
  const std::vector<Assignment> set{{"cluster.pools.0.replicas", "7"},
                                    {"cluster.pools.small.engine.max_num_seqs", "8"}};
  const Scenario s = parse_scenario(with(kTwo), "x.json", set);
  CHECK(s.cluster.pools[0].replicas == 7);
  CHECK(pool_scenarios(s)[1].engine.max_num_seqs == 8);
  CHECK(pool_scenarios(s)[0].engine.max_num_seqs == 64);
  CHECK(refused(kTwo, {{"cluster.pools.2.replicas", "7"}}).expected ==
        "a number from 0 to 1, or an entry's name");
}

TEST_CASE("pools that cannot be are refused with their place", "[unit][scenario][fleet]") {
  CHECK_THAT(refused(R"({"replicas": 2, "pools": [{"name": "a"}]})").place,
             ContainsSubstring("line 3: cluster.replicas"));
  CHECK_THAT(refused(R"({"pools": []})").found, ContainsSubstring("an empty list"));
  CHECK_THAT(refused(R"({"pools": [{"replicas": 1}]})").found, ContainsSubstring("no \"name\""));
  CHECK_THAT(refused(R"({"pools": [{"name": ""}]})").place,
             ContainsSubstring("cluster.pools[0].name"));
  CHECK_THAT(refused(R"({"pools": [{"name": "a"}, {"name": "a"}]})").place,
             ContainsSubstring("cluster.pools[1].name"));
  CHECK_THAT(refused(R"({"pools": [{"name": "a", "replicas": 0}]})").found,
             ContainsSubstring("0 replicas in all"));
  CHECK_THAT(refused(R"({"pools": [{"name": "a", "replicas": -1}]})").place,
             ContainsSubstring("cluster.pools[0].replicas"));
  CHECK_THAT(refused(R"({"pools": [{"name": "a", "replica": 1}]})").expected,
             ContainsSubstring("did you mean replicas"));
  const InputError::Parts key =
      refused(R"({"pools": [{"name": "a", "engine": {"max_num_sqs": 1}}]})");
  CHECK_THAT(key.place, ContainsSubstring("line 3: cluster.pools[0].engine.max_num_sqs"));
  CHECK_THAT(key.expected, ContainsSubstring("max_num_seqs"));
  CHECK_THAT(refused(R"({"pools": [{"name": "a", "gpu": "h1000"}]})").place,
             ContainsSubstring("line 3: cluster.pools[0].gpu"));
  CHECK_THAT(refused(R"({"pools": [{"name": "a", "workload": {}}]})").found,
             ContainsSubstring("an unknown key"));
}

TEST_CASE("a key of the scenario that does not suit a pool is told with the pool",
          "[unit][scenario][fleet]") {
  const InputError::Parts parts =
      refused(R"({"pools": [{"name": "a"}, {"name": "b", "gpu": "a100-sxm"}]})", {},
              " \"profile\": \"h100-sxm/vllm-0.24.0\",\n");
  CHECK_THAT(parts.place, ContainsSubstring("line 3: profile"));
  CHECK_THAT(parts.expected, ContainsSubstring("in cluster.pools[1]"));
}
