// build/bench [--step-by-step] [CASE...]: times whole simulations and prints one line a case:
//   requests, steps, share of them skipped; CPU seconds to set up (profile, tables), to read the requests
//   alone, and for the run with its summary (reading included); requests a second of the run, with
//   and without reading; peak memory in MiB
// With --step-by-step every engine step is simulated, for the ratio.
// Peak memory is the process's own high-water mark, so a case that must be measured alone is named on
// the command line.
#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/parse.h"
#include "sim/workload/request_source.h"

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
    {"closed-64-long", R"({"num_prompts": 5000, "max_concurrency": 64, "input_len": 512,
                           "output_len": 2000})"},
};

// One H100 under vllm-v1, the workload apart.
std::string scenario_json(const Case& c) {
  return std::string(R"({"model": "qwen3-14b", "gpu": "h100-sxm", "profile": "h100-sxm/vllm-0.24.0",
    "engine": {"scheduler": "vllm-v1", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
               "enable_prefix_caching": false}, "name": ")") +
         c.name + R"(", "workload": )" + c.workload_json + "}";
}

// Processor seconds: a run has one thread, and other programs may share the machine.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// What reading (or drawing) the requests alone costs.
double time_reading(const Scenario& scenario) {
  const double begin = cpu_seconds();
  std::vector<std::string> notes;
  const auto source = open_workload(scenario.workload, "", scenario.seed, notes);
  while (source->next()) {
  }
  return cpu_seconds() - begin;
}

void run_case(const Case& c, const RunOptions& options) {
  const Scenario scenario = parse_scenario(scenario_json(c), c.name);
  const double reading_s = time_reading(scenario);
  const double begin = cpu_seconds();
  const Blueprint blueprint = make_blueprint(scenario);
  const double setup_s = cpu_seconds() - begin;
  RunMetrics metrics;
  Observer* observers[] = {&metrics};
  const double started = cpu_seconds();
  const RunOutcome outcome = simulate(scenario, blueprint, observers, options);
  metrics.result();
  const double run_s = cpu_seconds() - started;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto requests = static_cast<double>(outcome.requests);
  std::printf("%-16s %9.0f %11llu %8.4f %8.4f %8.4f %8.4f %11.0f %11.0f %8.1f\n", c.name, requests,
              static_cast<unsigned long long>(outcome.steps),
              static_cast<double>(outcome.steps_skipped) / static_cast<double>(outcome.steps),
              setup_s, reading_s, run_s, requests / run_s, requests / (run_s - reading_s),
              static_cast<double>(usage.ru_maxrss) / 1024.0);
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
  std::vector<std::string> wanted(argv + 1, argv + argc);
  headway::RunOptions options;
  options.step_by_step = std::erase(wanted, "--step-by-step") > 0;
  std::printf("%-16s %9s %11s %8s %8s %8s %8s %11s %11s %8s\n", "case", "requests", "steps",
              "skipped", "setup_s", "read_s", "run_s", "requests/s", "w/o reading", "peak_MiB");
  for (const headway::Case& c : headway::kCases) {
    const bool all = wanted.empty();
    bool named = false;
    for (const std::string& name : wanted) named = named || name == c.name;
    if (all || named) headway::run_case(c, options);
  }
}
