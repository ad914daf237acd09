// build/bench [CASE...]: times whole simulations and prints one line a case:
//   name, requests, steps, wall seconds, requests per second, peak memory in MiB
// Reading the trace is part of a run's wall time. Peak memory is the process's own high-water mark,
// so a case that must be measured alone is named on the command line.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/parse.h"

namespace headway {
namespace {

struct Case {
  const char* name;
  const char* workload_json;
};

constexpr Case kCases[] = {
    {"azure-conv", R"({"trace": "azure-2023-conv"})"},  // the main job
    {"azure-code", R"({"trace": "azure-2023-code"})"},
    {"closed-64", R"({"num_prompts": 5000, "max_concurrency": 64, "input_len": 512,
                      "output_len": 200})"},
};

// One H100 under vllm-v1, the workload apart.
std::string scenario_json(const Case& c) {
  return std::string(R"({"model": "qwen3-14b", "gpu": "h100-sxm", "profile": "h100-sxm/vllm-0.24.0",
    "engine": {"scheduler": "vllm-v1", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
               "enable_prefix_caching": false}, "name": ")") +
         c.name + R"(", "workload": )" + c.workload_json + "}";
}

void run_case(const Case& c) {
  const Scenario scenario = parse_scenario(scenario_json(c), c.name);
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
