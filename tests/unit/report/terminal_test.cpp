#include "sim/report/terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "sim/report/compare_table.h"
#include "sim/report/progress.h"
#include "sim/report/terminal_block.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

RunSummary summary() {
  RunSummary s;
  s.completed = 1000;
  s.failed = 1;
  s.input_tokens = 234567;
  s.duration_s = 12.345;
  s.output_throughput = 1234.5;
  s.ttft_ms = {1000, 50.5, 40, 1, 1, 1, 1, 1, 1, 99.999};
  s.e2el_ms.mean = 200;
  s.e2el_ms.count = 1000;
  s.tpot_ms = {1000, 20, 20, 0, 0, 0, 0, 0, 0, 30};
  s.attribution_ms = {50, 20, 30, 80, 0, 20};
  return s;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("the serving block has vLLM's labels and columns", "[unit]") {
  RunInfo info;
  info.max_concurrency = 16;
  info.request_rate = 4.0;
  RunSummary s = summary();
  s.request_goodput = 3.5;
  const std::vector<std::string> want = {"============ Serving Benchmark Result ============",
                                         "Successful requests:                     1000      ",
                                         "Failed requests:                         1         ",
                                         "Maximum request concurrency:             16        ",
                                         "Request rate configured (RPS):           4.00      ",
                                         "Benchmark duration (s):                  12.35     ",
                                         "Total input tokens:                      234567    ",
                                         "Total generated tokens:                  0         ",
                                         "Request throughput (req/s):              0.00      ",
                                         "Request goodput (req/s):                 3.50      ",
                                         "Output token throughput (tok/s):         1234.50   ",
                                         "Peak output token throughput (tok/s):    0.00      ",
                                         "Peak concurrent requests:                0.00      ",
                                         "Total token throughput (tok/s):          0.00      ",
                                         "---------------Time to First Token----------------",
                                         "Mean TTFT (ms):                          50.50     ",
                                         "Median TTFT (ms):                        40.00     ",
                                         "P99 TTFT (ms):                           100.00    ",
                                         "-----Time per Output Token (excl. 1st token)------",
                                         "Mean TPOT (ms):                          20.00     ",
                                         "Median TPOT (ms):                        20.00     ",
                                         "P99 TPOT (ms):                           30.00     ",
                                         "---------------Inter-token Latency----------------",
                                         "Mean ITL (ms):                           0.00      ",
                                         "Median ITL (ms):                         0.00      ",
                                         "P99 ITL (ms):                            0.00      ",
                                         "----------------End-to-end Latency----------------",
                                         "Mean E2EL (ms):                          200.00    ",
                                         "Median E2EL (ms):                        0.00      ",
                                         "P99 E2EL (ms):                           0.00      ",
                                         "=================================================="};
  CHECK(lines_of(serving_block(s, info)) == want);
  // The rows that depend on the load are left out without it.
  const std::string plain = serving_block(summary(), {});
  CHECK_THAT(plain, !ContainsSubstring("concurrency:"));
  CHECK_THAT(plain, !ContainsSubstring("RPS"));
  CHECK_THAT(plain, !ContainsSubstring("goodput"));
}

TEST_CASE("our block keeps to 50 columns and accounts for the whole latency", "[unit]") {
  RunSummary s = summary();
  s.slo = {500.0, 50.0, {}};
  s.slo_attainment = 0.987;
  s.ttft_attainment = 0.99;
  s.tpot_attainment = 0.995;
  s.engine.coverage_share = {0.25, 0.5, 0.2, 0.05};
  s.engine.class_share[0] = 0.6;
  s.engine.kv_peak_blocks = 123;
  RunInfo info;
  info.num_gpu_blocks = 2588;
  const std::string text = headway_block(s, info);
  const auto lines = lines_of(text);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    INFO(lines[i]);
    CHECK(lines[i].size() == 50);
  }
  CHECK(lines.back().starts_with("Verdict: stable"));
  CHECK_THAT(text, ContainsSubstring("Queueing                        50.00 ms    25.0 %\n"));
  CHECK_THAT(text, ContainsSubstring("Host                            20.00 ms    10.0 %\n"));
  CHECK_THAT(text, ContainsSubstring("123 of 2588 blocks\n"));
  CHECK_THAT(text, ContainsSubstring("Extrapolated                                20.0 %\n"));
  CHECK_THAT(text, ContainsSubstring("TTFT <= 500 ms                              99.0 %\n"));
  CHECK_THAT(text, ContainsSubstring("SLO attainment                              98.7 %\n"));
  CHECK_THAT(headway_block(summary(), info), !ContainsSubstring("SLO"));
}

TEST_CASE("our block says what each pool did and cost, in 50 columns", "[unit][fleet]") {
  RunInfo info;
  CHECK_THAT(headway_block(summary(), info), !ContainsSubstring("Pools"));
  PoolInfo pool;
  pool.name = "large";
  pool.replicas = 2;
  pool.gpus = 4;
  pool.completed = 7;
  pool.failed = 1;
  pool.utilisation = 0.5;
  pool.gpu_hours = 3;
  pool.usd = 12.5;
  info.pools = {pool};
  info.replica_failures = 2;
  info.retries = 5;
  const std::string text = headway_block(summary(), info);
  const auto lines = lines_of(text);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) CHECK(lines[i].size() == 50);
  CHECK_THAT(text, ContainsSubstring("large                           2 replicas, 4 GPUs\n"));
  CHECK_THAT(text, ContainsSubstring("  Requests, failed                            8, 1\n"));
  CHECK_THAT(text, ContainsSubstring("  US dollars                                 12.50\n"));
  CHECK_THAT(text, ContainsSubstring("Requests sent again                              5\n"));
}

TEST_CASE("classes of requests stand in a table", "[unit]") {
  RunSummary s = summary();
  s.ttft_attainment = s.slo_attainment = 0.9;
  s.classes = {{.name = "urgent", .limits = {200.0, {}, {}}, .requests = 30, .completed = 29,
                .slo_attainment = 0.5, .request_goodput = 1.25, .mean_ttft_ms = 100,
                .p99_ttft_ms = 250.06, .p99_tpot_ms = 9},
               {.name = "others", .limits = {}, .requests = 7, .completed = 7,
                .slo_attainment = {}, .request_goodput = {}}};
  const std::string text = headway_block(s, {});
  CHECK_THAT(text, ContainsSubstring("TTFT within its class's limit               90.0 %\n"));
  CHECK_THAT(text, ContainsSubstring(
      "class   requests     met  goodput/s  mean TTFT  p99 TTFT  p99 TPOT\n"
      "urgent        30  50.0 %       1.25      100.0     250.1       9.0\n"
      "others         7       -          -        0.0       0.0       0.0\n"));
}

TEST_CASE("our block shows the memory budget, each part", "[unit]") {
  RunInfo info;
  CHECK_THAT(headway_block(RunSummary(), info), !ContainsSubstring("Memory of one GPU"));
  info.kv_budget_bytes = {{"total_bytes", 80LL << 30}, {"kv_cache_bytes", 42LL << 30},
                          {"cuda_graph_bytes", 1LL << 29}, {"block_bytes", 2560 << 10}};
  const std::string text = headway_block(RunSummary(), info);
  CHECK_THAT(text, ContainsSubstring("Total                                    80.00 GiB\n"));
  CHECK_THAT(text, ContainsSubstring("KV cache                                 42.00 GiB\n"));
  CHECK_THAT(text, ContainsSubstring("CUDA graph                                0.50 GiB\n"));
  CHECK_THAT(text, ContainsSubstring("Block                                     2560 KiB\n"));
}

TEST_CASE("the verdict line gives slope and cause", "[unit]") {
  RunSummary s = summary();
  s.verdict.trend_known = true;
  s.verdict.slope_per_s = 1.25;
  s.verdict.window_s = 600;
  s.verdict.growth_share = 0.25;
  s.verdict.load = Load::kOverloaded;
  CHECK_THAT(verdict_line(s), ContainsSubstring("overloaded") &&
                                  ContainsSubstring("+1.250 req/s over 600 s") &&
                                  ContainsSubstring("25 % of arrivals"));
  CHECK_THAT(verdict_line(s), !ContainsSubstring("storm"));
  s.verdict.load = Load::kStable;
  s.verdict.growth_share = 0;
  s.verdict.preemption_storm = true;
  s.verdict.preemptions_per_request = 1.5;
  s.verdict.recomputed_share = 0.3;
  s.engine.preemptions = 1500;
  s.engine.recomputed_tokens = 7;
  s.engine.kv_blocks_total = 2588;
  CHECK_THAT(verdict_line(s),
             ContainsSubstring("stable") &&
                 ContainsSubstring("Preemption storm: 1500 preemptions, 1.50 a request, "
                                   "30 % of all computed tokens") &&
                 ContainsSubstring("2588 KV blocks"));
}

std::vector<CompareRow> three_rows() {
  RunSummary a = summary(), b = summary(), c;
  b.ttft_ms.mean = 25;
  b.output_throughput = 1000;
  b.verdict.load = Load::kOverloaded;
  c.arrived = c.failed = 5;  // nothing finished
  return {
      {"static", {a}, "waits for a batch"}, {"vllm-v1", {b}, ""}, {"broken", {c}, "fits nothing"}};
}

TEST_CASE("compare: the best of each column is marked, in its own direction", "[unit]") {
  const auto out = compare_json(three_rows(), "schedulers");
  CHECK(out["rows"].size() == 3);
  const auto best = [&](std::size_t row) { return out["rows"][row]["best"].dump(); };
  CHECK_THAT(best(0), ContainsSubstring("\"output_throughput\""));
  CHECK_THAT(best(0), !ContainsSubstring("mean_ttft_ms"));
  CHECK_THAT(best(1), ContainsSubstring("\"mean_ttft_ms\""));
  CHECK_THAT(best(1), !ContainsSubstring("output_throughput"));
  CHECK_THAT(best(0), !ContainsSubstring("p99_ttft_ms"));  // equal in both: nobody is best
  CHECK(best(2) == "[]");  // nothing finished: no latencies to win with
  CHECK(out["rows"][2]["metrics"]["mean_ttft_ms"].is_null());
  CHECK(out["rows"][0]["metrics"]["mean_ttft_ms"] == 50.5);
  CHECK_FALSE(out["rows"][0]["metrics"].contains("request_goodput"));
  CHECK(out["rows"][1]["load"] == "overloaded");
}

TEST_CASE("compare: text is aligned, marked and explained; colour only on request", "[unit]") {
  const std::string text = compare_text(three_rows(), "Azure", false);
  const auto lines = lines_of(text);
  REQUIRE(lines.size() == 11);
  CHECK(lines[0] == "Azure");
  CHECK(lines[4].starts_with("static "));
  CHECK_THAT(lines[4], ContainsSubstring(" 50.50 "));
  CHECK_THAT(lines[5], ContainsSubstring(" 25*") && ContainsSubstring("overloaded"));
  CHECK(lines[4].find("stable") == lines[5].find("overloaded"));
  CHECK(lines[7] == "* best of its column");
  CHECK(lines[9] == "static   waits for a batch");
  CHECK(lines[10] == "broken   fits nothing");
  CHECK(text.find('\x1b') == std::string::npos);
  const std::string coloured = compare_text(three_rows(), "Azure", true);
  CHECK_THAT(coloured, ContainsSubstring("\x1b[1;32m") && ContainsSubstring("25*\x1b[0m"));
}

TEST_CASE("compare: markdown", "[unit]") {
  const auto lines = lines_of(compare_markdown(three_rows(), ""));
  CHECK(lines[0].starts_with("| | done requests | failed requests | through req/s |"));
  CHECK(lines[0].ends_with("| verdict |"));
  CHECK(lines[1].starts_with("|---|---:|"));
  CHECK_THAT(lines[3], ContainsSubstring("| **25** |"));
  CHECK(std::count(lines[0].begin(), lines[0].end(), '|') ==
        std::count(lines[4].begin(), lines[4].end(), '|'));
  CHECK(lines.back() == "- broken  fits nothing");
}

TEST_CASE("compare: replicates show mean and deviation", "[unit]") {
  RunSummary a = summary(), b = summary();
  a.ttft_ms.mean = 10;
  b.ttft_ms.mean = 14;
  const std::vector<CompareRow> rows = {{"x", {a, b}, ""}};
  const auto out = compare_json(rows, "");
  CHECK(out["rows"][0]["metrics"]["mean_ttft_ms"] == 12.0);
  CHECK(out["rows"][0]["std"]["mean_ttft_ms"].get<double>() == Approx(std::sqrt(8.0)));
  CHECK_THAT(compare_text(rows, "", false), ContainsSubstring("12±2.83"));
}

TEST_CASE("progress and colour stay away from files", "[unit]") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  CHECK_FALSE(is_terminal(file));
  CHECK_FALSE(use_colour(file));
  {
    ProgressLine progress(file, is_terminal(file), 10);
    for (int i = 0; i < 100'000; ++i) progress.on_step({});
    progress.on_end(SimTime::from_seconds(1));
  }
  std::fflush(file);
  CHECK(std::ftell(file) == 0);
  std::fclose(file);
}

}  // namespace
}  // namespace headway
