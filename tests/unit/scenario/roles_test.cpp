#include <string>

#include "sim/core/errors.h"
#include "sim/hardware/kv_links.h"
#include "sim/scenario/parse.h"
#include "sim/scenario/pools.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

std::string scenario(const std::string& cluster) {
  return R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "cluster": )" + cluster +
         R"(, "workload": {"num_prompts": 1, "request_rate": 1, "input_len": 8, "output_len": 8}})";
}

const std::string kPools = R"("pools": [{"name": "p", "role": "prefill"},
                                        {"name": "d", "role": "decode"}])";

InputError::Parts fault(const std::string& cluster) {
  try {
    parse_scenario(scenario(cluster), "s.json");
  } catch (const InputError& error) {
    return error.parts();
  }
  FAIL("accepted: " << cluster);
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a cluster of pools with roles", "[unit][scenario][pd]") {
  const Scenario s = parse_scenario(
      scenario(R"({"disaggregation": "splitwise", "transfer": {"link": {"bandwidth": 2e10,
                   "latency_us": 7}, "overlap": "layers", "per_gpu": false,
                   "lend_above_tokens": 99}, )" + kPools + "}"),
      "s.json");
  const TransferOptions& t = s.cluster.transfer;
  CHECK(t.rule == "splitwise");
  CHECK(t.link.empty());
  CHECK(t.bandwidth == 2e10);
  CHECK(t.latency_us == 7);
  CHECK(t.overlap == "layers");
  CHECK_FALSE(t.per_gpu);
  CHECK(t.lend_above_tokens == 99);
  // Written out and read back.
  const Scenario again = parse_scenario(to_json_text(s), "t.json");
  CHECK(to_json_text(again) == to_json_text(s));
  const Scenario named = parse_scenario(
      scenario(R"({"disaggregation": "distserve", "transfer": {"link": "roce-200"}, )" + kPools +
               "}"),
      "s.json");
  CHECK(named.cluster.transfer.link == "roce-200");
}

TEST_CASE("roles that make no cluster", "[unit][scenario][pd]") {
  CHECK(has(fault("{" + kPools + "}").place, "cluster.pools[0].role"));
  CHECK(has(fault("{" + kPools + "}").expected, "distserve"));
  CHECK(has(fault(R"({"disaggregation": "distserve", "replicas": 2})").place,
            "cluster.disaggregation"));
  CHECK(has(fault(R"({"disaggregation": "distserv", )" + kPools + "}").expected, "distserve"));
  CHECK(fault(R"({"disaggregation": "distserve", "pools": [{"name": "p", "role": "prefill"}]})")
            .found == "no pool that decodes");
  CHECK(fault(R"({"disaggregation": "distserve", "pools": [{"name": "p", "role": "decode"}]})")
            .found == "no pool that computes prompts");
  CHECK(has(fault(R"({"disaggregation": "distserve", "pools": [{"name": "p"}]})").found, "both"));
  CHECK(has(fault(R"({"disaggregation": "distserve", "failures": [{"replica": 0, "at_s": 1}], )" +
                  kPools + "}")
                .found,
            "fail"));
}

TEST_CASE("a decode pool whose scheduler cannot receive KV is refused by name",
          "[unit][scenario][pd]") {
  const InputError::Parts wrong = fault(
      R"({"disaggregation": "distserve", "pools": [{"name": "p", "role": "prefill"},
          {"name": "d", "role": "decode", "engine": {"scheduler": "llamacpp"}}]})");
  CHECK(has(wrong.place, "cluster.pools[1].engine.scheduler"));
  CHECK(wrong.found == "\"llamacpp\"");
  CHECK(has(wrong.expected, "vllm-v1"));
  CHECK(has(wrong.expected, "sglang"));
  CHECK_FALSE(has(wrong.expected, "trtllm"));
}

TEST_CASE("links that are none", "[unit][scenario][pd]") {
  const auto link = [](const std::string& text) {
    return fault(R"({"disaggregation": "distserve", "transfer": {"link": )" + text + "}, " +
                 kPools + "}");
  };
  CHECK(has(link("\"infiniband-ndrr\"").expected, "did you mean infiniband-ndr"));
  CHECK(has(link("{\"bandwidth\": 0}").place, "cluster.transfer.link.bandwidth"));
  CHECK(has(link("{\"latency_us\": 3}").expected, "bandwidth"));
  for (const KvLinkSpec& spec : kv_links()) {
    CHECK(spec.bandwidth > 1e9);
    CHECK(spec.latency_us > 0);
    CHECK_FALSE(spec.source.empty());
    CHECK(find_kv_link(spec.name) == &spec);
  }
}

TEST_CASE("host memory behind a prefix cache: what cannot have it", "[unit][scenario][offload]") {
  const auto engine = [](const std::string& text) {
    return R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "engine": )" + text +
           R"(, "workload": {"num_prompts": 1, "request_rate": 1, "input_len": 8,
                             "output_len": 8}})";
  };
  CHECK(parse_scenario(engine(R"({"kv_offloading_size": 16})"), "s.json")
            .engine.kv_offloading_size == 16);
  const auto wrong = [&](const std::string& text) {
    try {
      parse_scenario(engine(text), "s.json");
    } catch (const InputError& error) {
      return error.parts().expected;
    }
    return std::string("accepted");
  };
  CHECK(has(wrong(R"({"kv_offloading_size": 16, "scheduler": "sglang"})"), "vllm-v1 can"));
  CHECK(has(wrong(R"({"kv_offloading_size": 16, "enable_prefix_caching": false})"),
            "enable_prefix_caching"));
  CHECK(wrong(R"({"kv_offloading_size": -1})") != "accepted");
}
