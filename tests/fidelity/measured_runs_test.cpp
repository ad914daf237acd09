// Runs of real engines against their simulation. The host terms in the profiles were fitted on the
// first run alone; every other row is a prediction. Each row prints, misses included.
#include <cstdio>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/core/input_file.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

struct Means {
  double ttft_ms = 0, tpot_ms = 0, e2el_ms = 0;
};

Means simulate_means(const std::string& scenario_json) {
  RunMetrics metrics;
  Observer* observers[] = {&metrics};
  simulate(parse_scenario(scenario_json, "measured run"), observers);
  const RunSummary r = metrics.result();
  REQUIRE(r.failed == 0);
  return {r.ttft_ms.mean, r.tpot_ms.mean, r.e2el_ms.mean};
}

// Columns: request, arrival_s, input_tokens, output_tokens, queued_s, scheduled_s, first_token_s,
// last_token_s (measured/SOURCES.md).
Means measured_means(const std::string& file) {
  LineReader reader(HEADWAY_SOURCE_DIR "/tests/fidelity/measured/" + file);
  std::string_view line;
  reader.next(line);
  Means sum;
  int requests = 0, with_tpot = 0;
  while (reader.next(line)) {
    double arrival, queued, scheduled, first, last;
    int id, input, output;
    REQUIRE(std::sscanf(std::string(line).c_str(), "%d,%lf,%d,%d,%lf,%lf,%lf,%lf", &id, &arrival, &input,
                        &output, &queued, &scheduled, &first, &last) == 8);
    ++requests;
    sum.ttft_ms += (first - arrival) * 1e3;
    sum.e2el_ms += (last - arrival) * 1e3;
    if (output > 1) {
      ++with_tpot;
      sum.tpot_ms += (last - first) / (output - 1) * 1e3;
    }
  }
  REQUIRE(requests == 300);
  return {sum.ttft_ms / requests, sum.tpot_ms / with_tpot, sum.e2el_ms / requests};
}

struct Errors {
  double ttft, tpot, e2el;  // predicted / measured - 1
};

Errors compare(const char* name, const Means& predicted, const Means& measured) {
  const Errors e{predicted.ttft_ms / measured.ttft_ms - 1, predicted.tpot_ms / measured.tpot_ms - 1,
                 predicted.e2el_ms / measured.e2el_ms - 1};
  std::printf("%-52s TTFT %9.2f / %9.2f ms %+5.1f %%  TPOT %6.3f / %6.3f ms %+5.1f %%  "
              "E2EL %9.2f / %9.2f ms %+5.1f %%\n",
              name, predicted.ttft_ms, measured.ttft_ms, 100 * e.ttft, predicted.tpot_ms,
              measured.tpot_ms, 100 * e.tpot, predicted.e2el_ms, measured.e2el_ms, 100 * e.e2el);
  return e;
}

std::string replay(const std::string& gpu, const std::string& profile, const std::string& engine) {
  return R"({"model": "llama-3.1-8b", "gpu": ")" + gpu + R"(", "profile": ")" + profile +
         R"(", "engine": {"max_num_batched_tokens": 2048, "max_model_len": 32768, )" +
         R"("scheduler_reserve_full_isl": true, )" + engine +
         R"(}, "workload": {"trace": "sharegpt-llama-3.1-8b-300"}})";
}

}  // namespace

TEST_CASE("measured: Qwen3-14B on H100 at 4 requests/s (the run the host terms are fitted on)",
          "[fidelity]") {
  Means mean;
  constexpr int kSeeds = 8;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const Means one = simulate_means(R"({
      "model": "qwen3-14b", "gpu": "h100-sxm", "profile": "h100-sxm/vllm-0.24.0",
      "engine": {"max_num_seqs": 256, "max_num_batched_tokens": 8192, "num_gpu_blocks_override": 18038},
      "workload": {"num_prompts": 2363, "request_rate": 4, "output_len": 128,
        "input_len": {"distribution": "normal", "mean": 986, "stddev": 15, "min": 941, "max": 1043}},
      "seed": )" + std::to_string(seed) + "}");
    mean.ttft_ms += one.ttft_ms / kSeeds;
    mean.tpot_ms += one.tpot_ms / kSeeds;
    mean.e2el_ms += one.e2el_ms / kSeeds;
  }
  const Errors e = compare("H100 Qwen3-14B, vllm-0.24.0 tables (fitted)", mean,
                           {73.49, 13.58, 1797.49});
  CHECK(std::abs(e.tpot) < 0.03);
  CHECK(std::abs(e.e2el) < 0.03);
  CHECK(std::abs(e.ttft) < 0.15);
}

TEST_CASE("measured: Llama-3.1-8B on RTX PRO 6000, 128 seats, both profiles", "[fidelity]") {
  const Means measured = measured_means("rtx-pro-6000-llama-3.1-8b.csv");
  for (const char* profile : {"rtx-pro-6000/vllm-0.19.0", "rtx-pro-6000/llmservingsim-vllm-0.19.0"}) {
    const Means predicted = simulate_means(replay("rtx-pro-6000", profile, R"("max_num_seqs": 128)"));
    const Errors e = compare(profile, predicted, measured);
    CHECK(std::abs(e.tpot) < 0.05);
    CHECK(std::abs(e.e2el) < 0.05);
    CHECK(std::abs(e.ttft) < 0.08);
  }
}

TEST_CASE("measured: Llama-3.1-8B on RTX 4090, 2588 blocks: preemption decides", "[fidelity]") {
  const Means measured = measured_means("rtx-4090-llama-3.1-8b.csv");
  const Means predicted =
      simulate_means(replay("rtx-4090", "rtx-4090/llmservingsim-vllm-0.19.0",
                            R"("max_num_seqs": 256, "num_gpu_blocks_override": 2588)"));
  const Errors e = compare("rtx-4090/llmservingsim-vllm-0.19.0", predicted, measured);
  CHECK(std::abs(e.tpot) < 0.05);
  CHECK(std::abs(e.e2el) < 0.05);
}
