// A run of a real engine with data-parallel ranks in step: vLLM 0.19.0, Qwen3-30B-A3B, two RTX PRO 6000
// (DP 2 x EP 2), 300 ShareGPT requests at 10 a second. Nothing is fitted on it: the host terms come from
// the H100 run of measured_runs_test.cpp, the links (16 GB/s, 20 us) from the authors' description of
// the machine that ran it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/core/input_file.h"
#include "sim/metrics/observer.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

struct Times {
  double arrival = 0, ttft_ms = 0, tpot_ms = 0, e2el_ms = 0;
  int output = 0;
};

struct Records : Observer {
  std::vector<Times> all;
  void on_finish(const RequestRecord& r) override {
    REQUIRE_FALSE(r.failed);
    Times t{r.arrival.seconds(), (r.first_token - r.arrival).ms(), 0,
            (r.finish - r.arrival).ms(), r.output_tokens};
    if (t.output > 1) t.tpot_ms = (t.e2el_ms - t.ttft_ms) / (t.output - 1);
    all.push_back(t);
  }
};

std::vector<Times> measured() {
  LineReader reader(HEADWAY_SOURCE_DIR
                    "/tests/fidelity/measured/rtx-pro-6000-qwen3-30b-a3b-dp2-ep2.csv");
  std::string_view line;
  reader.next(line);
  std::vector<Times> out;
  while (reader.next(line)) {
    double arrival, queued, scheduled, first, last;
    int id, input, output;
    REQUIRE(std::sscanf(std::string(line).c_str(), "%d,%lf,%d,%d,%lf,%lf,%lf,%lf", &id, &arrival,
                        &input, &output, &queued, &scheduled, &first, &last) == 8);
    Times t{arrival, (first - arrival) * 1e3, 0, (last - arrival) * 1e3, output};
    if (output > 1) t.tpot_ms = (t.e2el_ms - t.ttft_ms) / (output - 1);
    out.push_back(t);
  }
  REQUIRE(out.size() == 300);
  return out;
}

std::vector<Times> predicted(const std::string& gpu, const std::string& profile) {
  Records records;
  Observer* observers[] = {&records};
  simulate(parse_scenario(R"({"model": "qwen3-30b-a3b", "gpu": )" + gpu + R"(, "profile": ")" + profile +
                              R"(", "engine": {"max_num_seqs": 128, "max_num_batched_tokens": 2048,
      "max_model_len": 32768, "scheduler_reserve_full_isl": true},
    "parallel": {"data_parallel_size": 2, "expert_parallel_size": 2},
    "workload": {"trace": "sharegpt-qwen3-300"}})",
                          "measured run"),
           observers);
  return records.all;
}

struct Errors {
  double ttft, tpot, e2el;
};

// Requests that arrive in [from, to) seconds.
Errors compare(const char* regime, const std::vector<Times>& ours, const std::vector<Times>& theirs,
               double from, double to) {
  const auto mean = [&](const std::vector<Times>& all, double Times::*what) {
    double sum = 0;
    int n = 0;
    for (const Times& t : all) {
      if (t.arrival < from || t.arrival >= to || (what == &Times::tpot_ms && t.output < 2)) continue;
      sum += t.*what;
      ++n;
    }
    return sum / n;
  };
  const auto error = [&](double Times::*what) { return mean(ours, what) / mean(theirs, what) - 1; };
  const Errors e{error(&Times::ttft_ms), error(&Times::tpot_ms), error(&Times::e2el_ms)};
  std::printf("  %-34s TTFT %7.1f / %7.1f ms %+6.1f %%  TPOT %6.2f / %6.2f ms %+5.1f %%  "
              "E2EL %7.0f / %7.0f ms %+5.1f %%\n",
              regime, mean(ours, &Times::ttft_ms), mean(theirs, &Times::ttft_ms), 100 * e.ttft,
              mean(ours, &Times::tpot_ms), mean(theirs, &Times::tpot_ms), 100 * e.tpot,
              mean(ours, &Times::e2el_ms), mean(theirs, &Times::e2el_ms), 100 * e.e2el);
  return e;
}

Errors by_regime(const char* name, const std::vector<Times>& ours) {
  const std::vector<Times> theirs = measured();
  std::printf("%s\n", name);
  compare("filling: first 10 s", ours, theirs, 0, 10);
  compare("most seats taken: 10 to 20 s", ours, theirs, 10, 20);
  compare("all seats taken, a queue: the rest", ours, theirs, 20, 1e9);
  return compare("all requests", ours, theirs, 0, 1e9);
}

}  // namespace

TEST_CASE("measured: Qwen3-30B-A3B on two RTX PRO 6000, DP 2 x EP 2: a prediction", "[fidelity]") {
  const Errors e = by_regime(
      "RTX PRO 6000, DP2 x EP2, llmservingsim-vllm-0.19.0 tables",
      predicted(R"({"base": "rtx-pro-6000", "link_bandwidth": 1.6e10, "link_latency_us": 20})",
                "rtx-pro-6000/llmservingsim-vllm-0.19.0"));
  CHECK(std::abs(e.tpot) < 0.06);
  CHECK(std::abs(e.e2el) < 0.06);
  CHECK(std::abs(e.ttft) < 0.15);
}

// A bad row, kept: AIConfigurator times one attention call again and again, and the KV of up to 128
// sequences of some hundred tokens stays in this GPU's 128 MB of L2 (64 x 1024 tokens in 70 us, the
// engine's own tables say 127); its NCCL ran between GPUs that reach each other over PCIe, which
// those of the run did not do as fast.
TEST_CASE("measured: the same run from AIConfigurator's tables is too fast", "[fidelity]") {
  const Errors e = by_regime("RTX PRO 6000, DP2 x EP2, vllm-0.19.0 (AIConfigurator) tables",
                             predicted(R"("rtx-pro-6000")", "rtx-pro-6000/vllm-0.19.0"));
  CHECK(e.tpot < 0);
  CHECK(e.tpot > -0.25);
}
