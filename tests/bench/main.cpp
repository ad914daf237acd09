// build/bench [--step-by-step] [--threads N] [CASE...]: times whole simulations and prints one line a case:
//   requests, steps, share of them skipped; processor seconds to set up (profile, tables) and to read the
//   requests alone; wall and processor seconds of the run with its summary, reading included; requests a
//   second of wall time, and of processor time without reading; peak memory in MiB
// Without names, all cases but the long ones. With --step-by-step every engine step is simulated, for
// the ratio. Peak memory is the process's own high-water mark, so a case that must be measured alone is
// named on the command line.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/metrics/background.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/parse.h"
#include "sim/workload/request_source.h"

namespace headway {
namespace {

struct Case {
  std::string name;
  std::string workload;                       // JSON
  std::string engine = "";                    // more of its keys
  std::string cluster = R"({"replicas": 1})";
  bool is_long = false;
  std::string model = "qwen3-14b";
};

// A closed loop that keeps every seat taken.
Case seats(int n) {
  const std::string count = std::to_string(n);
  return {"seats-" + count,
          R"({"num_prompts": 20000, "input_len": 100, "output_len": {"distribution": "uniform",
              "low": 50, "high": 150}, "max_concurrency": )" + count + "}",
          R"(, "max_num_seqs": )" + count};
}

// So many requests of the synthetic week, at its rate, over 64 replicas.
Case week(const std::string& name, double requests) {
  return {name,
          R"({"synth": "azure-week", "days": )" + std::to_string(7 * requests / 44e6) +
              R"(, "num_prompts": )" + std::to_string(static_cast<long long>(requests)) + "}",
          "", R"({"replicas": 64, "router": "least-outstanding"})", requests > 2e5};
}

std::vector<Case> cases() {
  return {
      {"azure-conv", R"({"trace": "azure-2023-conv"})"},  // the main job
      {"azure-code", R"({"trace": "azure-2023-code"})"},
      {"azure-conv-cache", R"({"trace": "azure-2023-conv"})", R"(, "enable_prefix_caching": true)"},
      {"mooncake-cache", R"({"trace": "mooncake-conversation", "limit": 3000})",
       R"(, "enable_prefix_caching": true, "max_model_len": 131072)",
       R"({"replicas": 8, "router": "least-outstanding"})", false, "llama-3.1-8b"},
      {"closed-64-short", R"({"num_prompts": 5000, "max_concurrency": 64, "input_len": 512,
                              "output_len": 20})"},
      {"closed-64", R"({"num_prompts": 5000, "max_concurrency": 64, "input_len": 512,
                        "output_len": 200})"},
      {"closed-64-long", R"({"num_prompts": 5000, "max_concurrency": 64, "input_len": 512,
                             "output_len": 2000})"},
      {"starved", R"({"num_prompts": 5000, "request_rate": 40,
                      "input_len": {"distribution": "uniform", "low": 10, "high": 400},
                      "output_len": {"distribution": "uniform", "low": 10, "high": 900}})",
       R"(, "num_gpu_blocks_override": 1200, "max_model_len": 16384)"},
      seats(16),
      seats(64),
      seats(256),
      seats(1024),
      week("scale-1e4", 1e4),
      week("scale-1e5", 1e5),
      week("scale-1e6", 1e6),
      week("scale-1e7", 1e7),
      week("week", 44e6),
  };
}

std::string scenario_json(const Case& c) {
  std::string engine = R"("scheduler": "vllm-v1", "max_num_batched_tokens": 8192)" + c.engine;
  if (engine.find("max_num_seqs") == std::string::npos) engine += R"(, "max_num_seqs": 256)";
  if (engine.find("prefix_caching") == std::string::npos) {
    engine += R"(, "enable_prefix_caching": false)";
  }
  return R"({"model": ")" + c.model + R"(", "gpu": "h100-sxm", "profile": "h100-sxm/vllm-0.24.0", "name": ")" +
         c.name + R"(", "engine": {)" + engine + R"(}, "cluster": )" + c.cluster +
         R"(, "workload": )" + c.workload + "}";
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double cpu_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

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
  std::optional<BackgroundObserver> background;
  if (options.threads > 1) background.emplace(metrics);
  Observer* observers[] = {&metrics};
  if (background) observers[0] = &*background;
  const double started = cpu_seconds(), wall_started = seconds(CLOCK_MONOTONIC);
  const double loop_started = seconds(CLOCK_THREAD_CPUTIME_ID);
  const RunOutcome outcome = simulate(scenario, blueprint, observers, options);
  metrics.result();
  const double loop_s = seconds(CLOCK_THREAD_CPUTIME_ID) - loop_started;
  const double run_s = cpu_seconds() - started;
  const double wall_s = seconds(CLOCK_MONOTONIC) - wall_started;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto requests = static_cast<double>(outcome.requests);
  std::printf("%-16s %9.0f %11llu %8.4f %8.4f %8.4f %8.4f %8.4f %8.4f %11.0f %11.0f %8.1f\n",
              c.name.c_str(),
              requests, static_cast<unsigned long long>(outcome.steps),
              static_cast<double>(outcome.steps_skipped) / static_cast<double>(outcome.steps),
              setup_s, reading_s, wall_s, run_s, loop_s, requests / wall_s, requests / (run_s - reading_s),
              static_cast<double>(usage.ru_maxrss) / 1024.0);
  std::fflush(stdout);
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
  std::vector<std::string> wanted(argv + 1, argv + argc);
  headway::RunOptions options;
  options.step_by_step = std::erase(wanted, "--step-by-step") > 0;
  const auto threads = std::find(wanted.begin(), wanted.end(), "--threads");
  if (threads != wanted.end() && threads + 1 != wanted.end()) {
    options.threads = std::atoi((threads + 1)->c_str());
    wanted.erase(threads, threads + 2);
  }
  const std::vector<headway::Case> cases = headway::cases();
  for (const std::string& name : wanted) {
    if (std::none_of(cases.begin(), cases.end(), [&](const auto& c) { return c.name == name; })) {
      std::fprintf(stderr, "no case named %s; there are:", name.c_str());
      for (const auto& c : cases) std::fprintf(stderr, " %s", c.name.c_str());
      std::fprintf(stderr, "\n");
      return 2;
    }
  }
  std::printf("%-16s %9s %11s %8s %8s %8s %8s %8s %8s %11s %11s %8s\n", "case", "requests", "steps",
              "skipped", "setup_s", "read_s", "wall_s", "cpu_s", "loop_s", "requests/s", "w/o reading",
              "peak_MiB");
  for (const headway::Case& c : cases) {
    const bool named = std::find(wanted.begin(), wanted.end(), c.name) != wanted.end();
    if (named || (wanted.empty() && !c.is_long)) headway::run_case(c, options);
  }
}
