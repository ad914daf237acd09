#include "sim/study/bottleneck.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace headway;

namespace {

// Llama 3.1 8B on one H100 by the roofline: no host time, 1.6 x 10^10 FLOPs a token.
Scenario scenario_with(const std::string& engine, const std::string& workload) {
  return parse_scenario(R"({"model": "llama-3.1-8b", "gpu": "h100-sxm",
      "engine": {"max_model_len": 4096, "enable_prefix_caching": false, )" +
                            engine + R"(}, "workload": {)" + workload + "}}",
                        "test");
}

Bottleneck found_in(const Scenario& scenario) {
  return find_bottleneck(scenario, simulate_explained(scenario));
}

const SuspectShare& share_of(const Bottleneck& b, Suspect suspect) {
  for (const SuspectShare& share : b.suspects) {
    if (share.suspect == suspect) return share;
  }
  throw std::runtime_error("not ranked");
}

void confirmed(const Bottleneck& b, Suspect suspect, const std::string& key) {
  CHECK(b.suspects.front().suspect == suspect);
  REQUIRE_FALSE(b.tried.empty());
  CHECK(b.tried.back().helps);
  CHECK(b.tried.back().suspect == suspect);
  CHECK(b.tried.back().change.key == key);
}

TEST_CASE("seats: four may run, and four requests leave the GPU idle", "[unit]") {
  const Bottleneck b = found_in(scenario_with(
      R"("max_num_seqs": 4)",
      R"("num_prompts": 200, "request_rate": 8, "input_len": 64, "output_len": 200)"));
  confirmed(b, Suspect::kSeats, "engine.max_num_seqs");
  CHECK(b.tried.size() == 1);
  CHECK(share_of(b, Suspect::kSeats).of_tail_ttft > 0.9);
  CHECK(share_of(b, Suspect::kKv).share() == 0);
}

TEST_CASE("KV: seats for 256, blocks for a handful", "[unit]") {
  const Bottleneck b = found_in(scenario_with(
      R"("num_gpu_blocks_override": 260)",
      R"("num_prompts": 200, "request_rate": 20, "input_len": 512, "output_len": 200)"));
  confirmed(b, Suspect::kKv, "engine.num_gpu_blocks_override");
  CHECK(b.tried.front().after.summary.ttft_ms.p99 < 0.9 * b.tried.front().after.summary.e2el_ms.p99);
  CHECK(share_of(b, Suspect::kSeats).share() == 0);
}

TEST_CASE("compute: long prompts for answers of a token, faster than the GPU can add", "[unit]") {
  // 4000 tokens x 16 GFLOP = 64 TFLOP: an H100 does some fifteen of them a second at its peak.
  const Bottleneck b = found_in(scenario_with(
      R"("max_num_batched_tokens": 4096)",
      R"("num_prompts": 200, "request_rate": 14, "input_len": 4000, "output_len": 2)"));
  CHECK(b.suspects.front().suspect == Suspect::kCompute);
  REQUIRE_FALSE(b.tried.empty());
  CHECK(b.tried.back().helps);
  CHECK(b.tried.back().change.key == "cluster.replicas");
}

TEST_CASE("a change that does not help is said not to, and the next suspect is tried", "[unit]") {
  // Seven sequences of 100 blocks: twice the seats find no KV to sit on.
  const Scenario scenario = scenario_with(
      R"("max_num_seqs": 7, "num_gpu_blocks_override": 702)",
      R"("num_prompts": 150, "request_rate": 12, "input_len": 1500, "output_len": 100)");
  const ExplainedRun run = simulate_explained(scenario);
  const Bottleneck b = find_bottleneck(scenario, run);
  REQUIRE(b.tried.size() >= 2);
  CHECK(b.tried.front().suspect == Suspect::kSeats);
  CHECK_FALSE(b.tried.front().helps);
  for (std::size_t i = 0; i + 1 < b.tried.size(); ++i) CHECK_FALSE(b.tried[i].helps);
}

TEST_CASE("causes: the parts of the tail sum to its TTFT, its queueing to the causes", "[unit]") {
  const ExplainedRun run = simulate_explained(scenario_with(
      R"("max_num_seqs": 8, "num_gpu_blocks_override": 300)",
      R"("num_prompts": 150, "request_rate": 20, "input_len": 300, "output_len": 100)"));
  for (const CauseMeans* means : {&run.causes.tail, &run.causes.all}) {
    double parts = 0, queue = 0;
    for (const double ms : means->parts_ms) parts += ms;
    for (const double ms : means->queue_ms) queue += ms;
    CHECK(parts == Approx(means->ttft_ms).epsilon(1e-9));
    CHECK(queue == Approx(means->parts_ms[0]).epsilon(1e-9));
  }
  CHECK(run.causes.tail.requests == 2);
  CHECK(run.causes.all.requests == 150);
  CHECK(run.causes.all.ttft_ms == Approx(run.summary.ttft_ms.mean).epsilon(1e-9));
  CHECK(run.causes.tail_from_ms >= run.summary.ttft_ms.p95);
  CHECK(run.causes.slowest.size() == RunCauses::kSlowest);
  CHECK((run.causes.slowest[0].finish - run.causes.slowest[0].arrival).ms() ==
        Approx(run.summary.e2el_ms.max));
}

std::string gpu_reliefs(const std::string& cluster, Suspect suspect) {
  const Scenario scenario = parse_scenario(
      R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "precision": {"weights": "fp8"},
          "workload": {"num_prompts": 20, "request_rate": 50, "input_len": 100, "output_len": 20},
          "cluster": {)" +
          cluster + "}}",
      "test");
  const ExplainedRun run = simulate_explained(scenario);
  std::string out;
  for (const Relief& relief : reliefs(suspect, scenario, run)) {
    out += relief.change.key + "=" + relief.change.value + " ";
    // Each is a change that can be run.
    const Assignment& change = relief.change;
    const Scenario changed = parse_scenario(to_json_text(scenario), "test", {&change, 1});
    CHECK(simulate_explained(changed).summary.completed == 20);
  }
  return out;
}

TEST_CASE("twice the GPUs, where prompts and answers have pools of their own", "[unit]") {
  const std::string cluster =
      R"("disaggregation": "distserve", "transfer": {"link": "infiniband-ndr"},
         "pools": [{"name": "a", "role": "decode", "replicas": 3},
                   {"name": "p", "role": "prefill", "replicas": 2}])";
  CHECK(gpu_reliefs(cluster, Suspect::kCompute) ==
        "cluster.pools.1.replicas=4 cluster.pools.0.replicas=6 ");
  CHECK(gpu_reliefs(cluster, Suspect::kBandwidth) ==
        "cluster.pools.0.replicas=6 cluster.pools.1.replicas=4 ");
}

TEST_CASE("twice the GPUs, of pools that do both", "[unit]") {
  CHECK(gpu_reliefs(R"("pools": [{"name": "a", "replicas": 1}, {"name": "off", "replicas": 0},
                                 {"name": "b", "gpu": "a100-sxm", "replicas": 2}])",
                    Suspect::kCompute) == "cluster.pools.0.replicas=2 cluster.pools.2.replicas=4 ");
}

TEST_CASE("more GPUs, where an autoscaler says how many", "[unit]") {
  CHECK(gpu_reliefs(R"("autoscaler": {"min_replicas": 1, "max_replicas": 3, "target": 8})",
                    Suspect::kCompute) ==
        "cluster.autoscaler.min_replicas=3 cluster.autoscaler.max_replicas=6 ");
  CHECK(gpu_reliefs(R"("pools": [{"name": "a", "replicas": 2,
                                  "autoscaler": {"min_replicas": 2, "max_replicas": 2, "target": 8}}])",
                    Suspect::kCompute) == "cluster.pools.0.autoscaler.max_replicas=4 ");
}

TEST_CASE("a rule's reliefs: the gateway's limits, then the scheduler", "[unit]") {
  const auto keys = [](const std::string& blocks) {
    const Scenario scenario = parse_scenario(
        R"({"model": "llama-3.1-8b", "gpu": "h100-sxm", "workload": {"num_prompts": 1}, )" + blocks +
            "}",
        "test");
    std::string out;
    for (const Relief& relief : reliefs(Suspect::kPolicy, scenario, {})) {
      out += relief.change.key + "=" + relief.change.value + " ";
    }
    return out;
  };
  CHECK(keys(R"("engine": {"scheduler": "vllm-v1"})").empty());
  CHECK(keys(R"("engine": {"scheduler": "static"})") == "engine.scheduler=vllm-v1 ");
  CHECK(keys(R"("cluster": {"admission": {"max_outstanding": 3, "max_outstanding_per_replica": 2}},
                "engine": {"scheduler": "orca"})") ==
        "cluster.admission.max_outstanding=6 cluster.admission.max_outstanding_per_replica=4 "
        "engine.scheduler=vllm-v1 ");
}

TEST_CASE("prompts apart: more replicas for them are found to help", "[unit]") {
  // 10 x 4000 tokens x 16 GFLOP = 640 TFLOP a second: most of what one H100 has, half of two.
  const Scenario scenario = parse_scenario(
      R"({"model": "llama-3.1-8b", "gpu": "h100-sxm",
          "workload": {"num_prompts": 200, "request_rate": 10, "input_len": 4000, "output_len": 8},
          "cluster": {"disaggregation": "distserve", "transfer": {"link": "infiniband-ndr"},
                      "pools": [{"name": "a", "role": "decode"}, {"name": "p", "role": "prefill"}]}})",
      "test");
  const Bottleneck b = found_in(scenario);
  confirmed(b, Suspect::kCompute, "cluster.pools.1.replicas");
  CHECK(b.tried.size() == 1);
}

TEST_CASE("reliefs fit the engine", "[unit]") {
  const auto keys = [](const std::string& engine, Suspect suspect) {
    const Scenario scenario = scenario_with(
        engine, R"("num_prompts": 1, "request_rate": 1, "input_len": 8, "output_len": 1)");
    ExplainedRun run;
    run.summary.engine.kv_blocks_total = 100;
    std::string out;
    for (const Relief& relief : reliefs(suspect, scenario, run)) {
      out += relief.change.key + "=" + relief.change.value + " ";
    }
    return out;
  };
  CHECK(keys(R"("scheduler": "llamacpp")", Suspect::kSeats) == "engine.n_parallel=8 ");
  CHECK(keys(R"("scheduler": "orca")", Suspect::kKv).starts_with("engine.kv_allocator=paged "));
  CHECK(keys(R"("scheduler": "vllm-v1")", Suspect::kKv) ==
        "precision.kv=fp8 engine.num_gpu_blocks_override=200 ");
  CHECK(keys(R"("num_gpu_blocks_override": 300)", Suspect::kKv) ==
        "engine.num_gpu_blocks_override=200 ");
  CHECK(keys(R"("scheduler": "sglang")", Suspect::kTokenBudget) ==
        "engine.chunked_prefill_size=16384 ");
  CHECK(keys(R"("enforce_eager": true)", Suspect::kHost) == "engine.enforce_eager=false ");
}

}  // namespace
