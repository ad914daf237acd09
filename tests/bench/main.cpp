// build/bench [CASE...]: times whole simulations and prints one line a case:
//   name, requests, steps, wall seconds, requests per second, peak memory in MiB
// Reading the trace is part of a run's wall time. Peak memory is the process's own high-water mark,
// so a case that must be measured alone is named on the command line.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/parse.h"

namespace headway {
namespace {

struct Case {
  const char* name;
  const char* scenario_json;
};

// The main job: the whole Azure conversation trace on one H100.
constexpr const char* kAzureConv = R"({
  "name": "azure-conv", "model": "qwen3-14b", "gpu": "h100-sxm", "profile": "h100-sxm/vllm-0.24.0",
  "engine": {"scheduler": "vllm-v1", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
             "enable_prefix_caching": false},
  "workload": {"trace": "azure-2023-conv"}
})";
constexpr const char* kAzureCode = R"({
  "name": "azure-code", "model": "qwen3-14b", "gpu": "h100-sxm", "profile": "h100-sxm/vllm-0.24.0",
  "engine": {"scheduler": "vllm-v1", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
             "enable_prefix_caching": false},
  "workload": {"trace": "azure-2023-code"}
})";
constexpr const char* kClosedLoop = R"({
  "name": "closed-64", "model": "qwen3-14b", "gpu": "h100-sxm", "profile": "h100-sxm/vllm-0.24.0",
  "engine": {"scheduler": "vllm-v1", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
             "enable_prefix_caching": false},
  "workload": {"num_prompts": 5000, "max_concurrency": 64, "input_len": 512, "output_len": 200}
})";

constexpr Case kCases[] = {
    {"azure-conv", kAzureConv}, {"azure-code", kAzureCode}, {"closed-64", kClosedLoop}};

void run_case(const Case& c) {
  const Scenario scenario = parse_scenario(c.scenario_json, c.name);
  RunMetrics metrics;
  Observer* observers[] = {&metrics};
  const auto begin = std::chrono::steady_clock::now();
  const RunOutcome outcome = simulate(scenario, observers);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-16s %10lld %12llu %10.3f %12.0f %8.1f\n", c.name,
              static_cast<long long>(outcome.requests),
              static_cast<unsigned long long>(outcome.steps), wall.count(),
              static_cast<double>(outcome.requests) / wall.count(),
              static_cast<double>(usage.ru_maxrss) / 1024.0);
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  std::printf("%-16s %10s %12s %10s %12s %8s\n", "case", "requests", "steps", "wall_s", "requests/s",
              "peak_MiB");
  for (const headway::Case& c : headway::kCases) {
    const bool all = wanted.empty();
    bool named = false;
    for (const std::string& name : wanted) named = named || name == c.name;
    if (all || named) headway::run_case(c);
  }
}
