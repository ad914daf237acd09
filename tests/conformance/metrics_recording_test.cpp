// The recorded metrics of three requests (recordings/metrics), replayed as a run's facts.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/core/input_file.h"
#include "sim/metrics/run_metrics.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

using Json = nlohmann::json;

Json recording() {
  return Json::parse(
      read_whole_file(std::string(HEADWAY_SOURCE_DIR) +
                      "/tests/conformance/recordings/metrics/m01_three_requests.json"));
}

RunMetrics replay(const Json& golden) {
  MetricsOptions options;
  options.slo.ttft_ms = golden["slo"]["ttft"].get<double>() * 1e3;
  options.slo.tpot_ms = golden["slo"]["tpot"].get<double>() * 1e3;
  options.keep_requests = true;
  RunMetrics metrics(options);
  for (std::size_t i = 0; i < golden["requests"].size(); ++i) {
    metrics.on_arrival(i, SimTime::from_seconds(golden["requests"][i]["send"]));
  }
  for (std::size_t i = 0; i < golden["requests"].size(); ++i) {
    const Json& request = golden["requests"][i];
    std::int32_t tokens = 0;
    SimTime last;
    for (const Json& chunk : request["chunks"]) {
      const SimTime now = SimTime::from_seconds(chunk[0]);
      if (tokens > 0) metrics.on_token_gaps(now - last, 1, now);
      metrics.on_tokens(chunk[1], now);
      tokens += chunk[1].get<std::int32_t>();
      last = now;
    }
    const double first = request["chunks"][0][0];
    metrics.on_finish(finished(i, request["send"], request["send"], first, last.seconds(),
                               request["prompt_tokens"], tokens));
  }
  metrics.on_end(SimTime::from_seconds(1.25));
  return metrics;
}

// The recording gives seconds to nine places.
bool same(double ms, const Json& seconds) {
  return std::abs(ms / 1e3 - seconds.get<double>()) < 1e-9;
}

TEST_CASE("the summary agrees with the recorded metrics of three requests", "[conformance]") {
  const Json golden = recording();
  const Json& want = golden["summary"];
  const RunSummary s = replay(golden).result();
  CHECK(s.completed == 3);
  CHECK(s.duration_s == want["bench_duration_s"].get<double>());
  CHECK(s.request_throughput == Approx(want["request_throughput"].get<double>()));
  CHECK(s.output_throughput == Approx(want["output_throughput"].get<double>()));
  CHECK(s.total_token_throughput == Approx(want["total_token_throughput"].get<double>()));
  CHECK(s.request_goodput.value() == Approx(want["request_goodput"].get<double>()));
  CHECK(same(s.ttft_ms.mean, want["mean_ttft"]));
  CHECK(same(s.ttft_ms.median, want["median_ttft"]));
  CHECK(same(s.ttft_ms.p99, want["p99_ttft"]));
  CHECK(same(s.tpot_ms.mean, want["vllm"]["mean_tpot"]));
  CHECK(same(s.tpot_ms.p99, want["vllm"]["p99_tpot"]));
  CHECK(same(s.itl_ms.mean, want["vllm"]["mean_itl"]));
  CHECK(same(s.itl_ms.median, want["vllm"]["median_itl"]));
  CHECK(same(s.itl_ms.p99, want["vllm"]["p99_itl"]));
}

TEST_CASE("each request agrees with its recorded latencies and goodness", "[conformance]") {
  const Json golden = recording();
  const RunMetrics metrics = replay(golden);
  const SloLimits slo = metrics.result().slo;
  for (const RequestRecord& r : metrics.requests()) {
    const Json& want = golden["per_request"][r.id];
    CHECK(r.output_tokens == want["output_tokens"].get<std::int32_t>());
    CHECK(same(ttft_of(r).ms(), want["ttft"]));
    CHECK(same(e2el_of(r).ms(), want["e2el"]));
    CHECK(judge_slo(slo, r).all() == want["good"].get<bool>());
    const Json& tpot = want["tpot_vllm_mlperf_aiperfITL"];
    REQUIRE(tpot_ms_of(r).has_value() == !tpot.is_null());
    if (!tpot.is_null()) CHECK(same(*tpot_ms_of(r), tpot));
  }
}

}  // namespace
}  // namespace headway
