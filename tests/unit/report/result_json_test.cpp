#include "sim/report/result_json.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/metrics/run_metrics.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

RunMetrics small_run(SloLimits slo) {
  RunMetrics metrics({slo, true});
  for (std::uint64_t i = 0; i < 3; ++i) metrics.on_arrival(i, SimTime::from_seconds(0.5 * i));
  StepRecord step;
  step.duration = SimTime::from_seconds(0.5);
  step.kv_blocks = 30;
  step.kv_blocks_total = 100;
  step.coverage_us = {1, 3, 0, 0};
  step.by_class_us = {4, 0, 0, 0, 0, 0, 0};
  metrics.on_step(step);
  metrics.on_finish(rejected(2, 1, 1, "too long"));
  metrics.on_finish(finished(1, 0.5, 0.5, 1, 1.5, 20, 3));
  metrics.on_finish(finished(0, 0, 0.25, 1, 2, 10, 5));
  metrics.on_end(SimTime::from_seconds(2));
  return metrics;
}

TEST_CASE("result: what each pool did, where there are pools", "[unit][fleet]") {
  CHECK_FALSE(result_json(small_run({}).result(), {}).at("headway").contains("pools"));
  RunInfo info;
  PoolInfo pool;
  pool.name = "large";
  pool.role = "both";
  pool.replicas = 2;
  pool.gpus = 4;
  pool.completed = 7;
  pool.failed = 1;
  pool.utilisation = 0.5;
  pool.mean_replicas = 1.5;
  pool.gpu_hours = 3;
  pool.usd = 12.5;
  info.pools = {pool, PoolInfo{}};
  info.replica_failures = 2;
  info.retries = 5;
  const Json out = result_json(small_run({}).result(), info).at("headway");
  const Json& first = out.at("pools").at(0);
  CHECK(first.at("name") == "large");
  CHECK(first.at("replicas") == 2);
  CHECK(first.at("gpus") == 4);
  CHECK(first.at("completed") == 7);
  CHECK(first.at("failed") == 1);
  CHECK(first.at("mean_replicas") == 1.5);
  CHECK(first.at("gpu_hours") == 3);
  CHECK(first.at("usd") == 12.5);
  CHECK(out.at("pools").at(1).at("usd").is_null());  // no price known
  CHECK(out.at("failures") == Json{{"replicas", 2}, {"retries", 5}});
}

TEST_CASE("result: vLLM's keys in its order, then ours", "[unit]") {
  const Json out = result_json(small_run({}).result(), {});
  std::vector<std::string> want = {"date",
                                   "backend",
                                   "model_id",
                                   "num_prompts",
                                   "request_rate",
                                   "burstiness",
                                   "max_concurrency",
                                   "duration",
                                   "completed",
                                   "failed",
                                   "total_input_tokens",
                                   "total_output_tokens",
                                   "request_throughput",
                                   "request_goodput",
                                   "output_throughput",
                                   "total_token_throughput",
                                   "max_output_tokens_per_s",
                                   "max_concurrent_requests"};
  for (const char* metric : {"ttft", "tpot", "itl", "e2el"}) {
    for (const char* statistic : {"mean", "median", "std", "p50", "p90", "p95", "p99"}) {
      want.push_back(std::string(statistic) + "_" + metric + "_ms");
    }
  }
  want.push_back("headway");
  CHECK(keys_of(out) == want);

  std::vector<std::string> ours = keys_of(out["headway"]);
  const std::vector<std::string> contract = {
      "schema_version", "version",        "scenario",    "seed",        "fingerprint", "wall_s",
      "steps",          "events",         "simulated_s", "preemptions", "kv",          "coverage",
      "attribution_ms", "slo_attainment", "profile"};
  REQUIRE(ours.size() >= contract.size());
  ours.resize(contract.size());
  CHECK(ours == contract);
  std::vector<std::string> kv = keys_of(out["headway"]["kv"]);
  kv.resize(4);
  CHECK(kv ==
        std::vector<std::string>{"num_gpu_blocks", "peak_blocks", "prefix_hit_rate", "budget"});
  CHECK(keys_of(out["headway"]["coverage"]) ==
        std::vector<std::string>{"measured", "interpolated", "extrapolated", "roofline"});
  CHECK(
      keys_of(out["headway"]["attribution_ms"]) ==
      std::vector<std::string>{"queue", "prefill", "interference", "decode", "preemption", "host"});
}

TEST_CASE("result: nulls where nothing is known, inf as text", "[unit]") {
  RunInfo info;
  info.request_rate = INFINITY;
  const Json out = result_json(small_run({}).result(), info);
  CHECK(out["date"].is_null());
  CHECK(out["headway"]["wall_s"].is_null());
  CHECK(out["headway"]["scenario"].is_null());
  CHECK(out["headway"]["slo_attainment"].is_null());
  CHECK(out["request_goodput"].is_null());
  CHECK(out["max_concurrency"].is_null());
  CHECK(out["burstiness"].is_null());
  CHECK(out["request_rate"] == "inf");
  // A trace has the rate of its arrivals: two gaps of half a second.
  CHECK(result_json(small_run({}).result(), {})["request_rate"] == 2.0);
}

TEST_CASE("result: values", "[unit]") {
  RunInfo info;
  info.date = "20260131-235959";
  info.wall_s = 0.5;
  info.model_id = "Qwen3-14B";
  info.request_rate = 4.0;
  info.burstiness = 1.0;
  info.max_concurrency = 8;
  info.version = "0.1.0";
  info.scenario_json = R"({"name": "b", "model": "a"})";
  info.seed = 18446744073709551615ULL;
  info.fingerprint = "00ff";
  info.events = 12;
  info.prefix_queries = 40;
  info.prefix_hits = 10;
  info.kv_budget_bytes = {{"total", 80'000'000'000}, {"weights", 28'000'000'000}};
  info.profile_json = R"({"gpu": "h100-sxm"})";
  const Json out = result_json(small_run({800.0, {}, {}}).result(), info);
  CHECK(out["date"] == "20260131-235959");
  CHECK(out["num_prompts"] == 3);
  CHECK(out["completed"] == 2);
  CHECK(out["failed"] == 1);
  CHECK(out["duration"] == 2.0);
  CHECK(out["total_input_tokens"] == 30);
  CHECK(out["total_output_tokens"] == 8);
  CHECK(out["request_goodput"] == 0.5);
  CHECK(out["mean_ttft_ms"] == 750.0);
  CHECK(out["p90_ttft_ms"].get<double>() == Approx(950));
  CHECK(out["mean_tpot_ms"] == 250.0);
  const Json& ours = out["headway"];
  CHECK(ours["scenario"].dump() == R"({"name":"b","model":"a"})");
  CHECK(ours["seed"] == 18446744073709551615ULL);
  CHECK(ours["kv"]["num_gpu_blocks"] == 100);
  CHECK(ours["kv"]["peak_blocks"] == 30);
  CHECK(ours["kv"]["prefix_hit_rate"] == 0.25);
  CHECK(ours["kv"]["budget"].dump() == R"({"total":80000000000,"weights":28000000000})");
  CHECK(ours["coverage"]["interpolated"] == 0.75);
  CHECK(ours["slo_attainment"].get<double>() == Approx(1.0 / 3));
  CHECK(ours["profile"]["gpu"] == "h100-sxm");
  CHECK(ours["simulated_s"] == 2.0);
  double parts = 0;
  for (const auto& [name, ms] : ours["attribution_ms"].items()) parts += ms.get<double>();
  CHECK(parts == Approx(out["mean_e2el_ms"].get<double>()));
}

TEST_CASE("result: what was sent between replicas, and found in host memory, where anything was",
          "[unit][pd]") {
  RunSummary summary = small_run({}).result();
  const Json plain = result_json(summary, {})["headway"];
  CHECK_FALSE(plain.contains("transfer"));
  CHECK_FALSE(plain["kv"].contains("host_hit_rate"));
  CHECK_FALSE(plain["attribution_ms"].contains("transfer"));
  summary.attribution_ms[static_cast<std::size_t>(LatencyPart::kTransfer)] = 1.5;
  RunInfo info;
  info.transfers = TransferInfo{4, 1e9, 20, 5, 0.25};
  info.prefix_queries = 100;
  info.prefix_hits = 40;
  info.host_hits = 10;
  const Json out = result_json(summary, info)["headway"];
  CHECK(out["transfer"]["transfers"] == 4);
  CHECK(out["transfer"]["bytes"] == 1e9);
  CHECK(out["transfer"]["mean_ms"] == 20);
  CHECK(out["transfer"]["mean_wait_ms"] == 5);
  CHECK(out["transfer"]["link_utilisation"] == 0.25);
  CHECK(out["kv"]["host_hit_rate"] == 0.1);
  CHECK(out["attribution_ms"]["transfer"] == 1.5);
  CHECK_FALSE(out["attribution_ms"].contains("retry"));
}

TEST_CASE("result: classes of requests, where there are some", "[unit]") {
  RunSummary s = small_run({}).result();
  CHECK_FALSE(result_json(s, {})["headway"].contains("classes"));
  s.classes = {{.name = "urgent", .limits = {}, .requests = 3, .completed = 2,
                .slo_attainment = 0.5, .request_goodput = {}, .mean_ttft_ms = 20}};
  const Json row = result_json(s, {})["headway"]["classes"][0];
  CHECK(row["name"] == "urgent");
  CHECK(row["requests"] == 3);
  CHECK(row["slo_attainment"] == 0.5);
  CHECK(row["request_goodput"].is_null());
  CHECK(row["mean_ttft_ms"] == 20.0);
}

TEST_CASE("result: detail is by request id, in seconds, failures included", "[unit]") {
  const RunMetrics metrics = small_run({});
  const Json out = result_json(metrics.result(), {}, &metrics.requests());
  CHECK(out["input_lens"].dump() == "[10,20,9]");
  CHECK(out["output_lens"].dump() == "[5,3,0]");
  CHECK(out["ttfts"].dump() == "[1.0,0.5,0.0]");
  CHECK(out["start_times"].dump() == "[0.0,0.5,1.0]");
  CHECK(out["errors"].dump() == R"(["","","too long"])");
}

TEST_CASE("INV-7: equal runs give equal bytes once date and wall time are left out", "[unit]") {
  CHECK(result_json(small_run({}).result(), {}).dump() ==
        result_json(small_run({}).result(), {}).dump());
}

TEST_CASE("result: saved whole, or the user's error", "[unit]") {
  namespace fs = std::filesystem;
  const std::string path =
      (fs::temp_directory_path() / ("headway-result-" + std::to_string(::getpid()) + ".json"))
          .string();
  const Json out = result_json(small_run({}).result(), {});
  save_result(path, out);
  CHECK(Json::parse(read_whole_file(path)) == out);
  fs::remove(path);
  if (fs::exists("/dev/full")) CHECK_THROWS_AS(save_result("/dev/full", out), InputError);
  CHECK_THROWS_AS(save_result("/no/such/folder/x.json", out), InputError);
}

TEST_CASE("dates are written as vLLM's benchmark does", "[unit]") {
  const std::string date = current_date();
  REQUIRE(date.size() == 15);
  CHECK(date[8] == '-');
  CHECK(date.substr(0, 2) == "20");
}

}  // namespace
}  // namespace headway
