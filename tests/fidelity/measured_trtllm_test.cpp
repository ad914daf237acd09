// TensorRT-LLM 1.0.0rc3 on H100, Llama-3.1-8B, closed loops at TP 1, 2, 4, 8 (AIConfigurator's silicon
// samples), from the tables of 1.2.0rc5. The profile's host terms (300 us a step, 24 us a sequence and
// step) were fitted on the 31 rows of 1024 prompt tokens alone and frozen; the other 58 rows are
// predictions.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/simulation.h"
#include "sim/core/input_file.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/parse.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

struct Row {
  int tp = 0, input = 0, output = 0, concurrency = 0;
  double ttft_ms = 0, tpot_ms = 0;
  bool fitted() const { return input == 1024; }
};

std::vector<Row> rows() {
  LineReader reader(HEADWAY_SOURCE_DIR "/tests/fidelity/measured/h100-trtllm-llama-3.1-8b.csv");
  std::string_view line;
  reader.next(line);
  std::vector<Row> out;
  while (reader.next(line)) {
    Row r;
    REQUIRE(std::sscanf(std::string(line).c_str(), "%d,%d,%d,%d,%lf,%lf", &r.tp, &r.input, &r.output,
                        &r.concurrency, &r.ttft_ms, &r.tpot_ms) == 6);
    out.push_back(r);
  }
  REQUIRE(out.size() == 89);
  return out;
}

RunSummary run(const Row& r) {
  const auto text = [](int x) { return std::to_string(x); };
  RunMetrics metrics;
  Observer* observers[] = {&metrics};
  simulate(parse_scenario(R"({"model": "llama-3.1-8b", "gpu": "h100-sxm",
      "profile": "h100-sxm/trtllm-1.2.0rc5",
      "engine": {"scheduler": "trtllm", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
                 "max_model_len": 8192, "enable_prefix_caching": false},
      "parallel": {"tensor_parallel_size": )" + text(r.tp) +
                              R"(}, "workload": {"num_prompts": )" + text(5 * r.concurrency) +
                              R"(, "max_concurrency": )" + text(r.concurrency) + R"(, "input_len": )" +
                              text(r.input) + R"(, "output_len": )" + text(r.output) + "}}",
                          "measured run"),
           observers);
  return metrics.result();
}

struct Sums {
  int n = 0;
  double absolute = 0, signed_sum = 0, ttft = 0;
  void add(double tpot_error, double ttft_error) {
    ++n;
    absolute += std::abs(tpot_error);
    signed_sum += tpot_error;
    ttft += std::abs(ttft_error);
  }
  double mape() const { return absolute / n; }
  double bias() const { return signed_sum / n; }
};

}  // namespace

TEST_CASE("measured: TensorRT-LLM closed loops on H100, TP 1 to 8", "[fidelity]") {
  std::map<std::string, Sums> regimes;
  for (const Row& r : rows()) {
    const RunSummary s = run(r);
    const double tpot = s.tpot_ms.mean / r.tpot_ms - 1, ttft = s.ttft_ms.mean / r.ttft_ms - 1;
    regimes["all"].add(tpot, ttft);
    regimes[r.fitted() ? "all, fitted on" : "all, predicted"].add(tpot, ttft);
    if (!r.fitted()) {
      regimes["TP " + std::to_string(r.tp) + ", predicted"].add(tpot, ttft);
      char load[40];
      std::snprintf(load, sizeof load, "%3d users, predicted", r.concurrency);
      regimes[load].add(tpot, ttft);
    }
    if (std::abs(tpot) < 0.15) continue;
    std::printf(
        "  bad row%s: TP %d, %4d + %3d tokens, %3d users: TPOT %6.2f / %6.2f ms %+5.1f %%, "
        "TTFT %5.0f / %5.0f ms\n",
        r.fitted() ? " (fitted on)" : "", r.tp, r.input, r.output, r.concurrency, s.tpot_ms.mean,
        r.tpot_ms, 100 * tpot, s.ttft_ms.mean, r.ttft_ms);
  }
  for (const auto& [name, sums] : regimes) {
    std::printf("  TensorRT-LLM H100, %-21s %2d rows: TPOT MAPE %4.1f %%, bias %+5.1f %%; TTFT MAPE "
                "%4.0f %%\n",
                name.c_str(), sums.n, 100 * sums.mape(), 100 * sums.bias(), 100 * sums.ttft / sums.n);
  }
  CHECK(regimes["all, predicted"].mape() < 0.08);
  CHECK(regimes["all"].mape() < 0.08);
}
