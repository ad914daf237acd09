// Recorded metrics ("llmsim-golden-metrics/1"): hand-made token times, replayed as a run's facts
// through RunMetrics. Where a recording gives another tool's definition (AIPerf, guidellm), it is
// worked out here from the same request records. Seconds, to nine places.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/metrics/run_metrics.h"
#include "sim/workload/arrivals.h"
#include "tests/conformance/replay.h"
#include "tests/support/records.h"

namespace headway::conformance {
namespace {

using nlohmann::json;

double seconds(double ms) { return ms / 1e3; }

RunMetrics measure(const json& recording) {
  MetricsOptions options;
  options.slo.ttft_ms = recording.at("slo").at("ttft").get<double>() * 1e3;
  options.slo.tpot_ms = recording.at("slo").at("tpot").get<double>() * 1e3;
  options.keep_requests = true;
  RunMetrics metrics(options);
  const json& requests = recording.at("requests");
  SimTime end;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    metrics.on_arrival(i, SimTime::from_seconds(requests[i].at("send")));
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const json& chunks = requests[i].at("chunks");
    std::int32_t tokens = 0;
    SimTime last;
    for (const json& chunk : chunks) {
      const SimTime now = SimTime::from_seconds(chunk.at(0));
      if (tokens > 0) metrics.on_token_gaps(now - last, 1, now);
      metrics.on_tokens(chunk.at(1), now);
      tokens += chunk.at(1).get<std::int32_t>();
      last = now;
    }
    const double send = requests[i].at("send");
    metrics.on_finish(finished(i, send, send, chunks.at(0).at(0), last.seconds(),
                               requests[i].at("prompt_tokens"), tokens));
    end = std::max(end, last);
  }
  metrics.on_end(end);
  return metrics;
}

json per_request(const json& recording, const RunMetrics& metrics) {
  json rows = json::array();
  const SloLimits slo = metrics.result().slo;
  for (const RequestRecord& r : metrics.requests()) {
    const json& request = recording.at("requests").at(r.id);
    json gaps = json::array();
    for (std::size_t i = 1; i < request.at("chunks").size(); ++i) {
      gaps.push_back(request["chunks"][i][0].get<double>() -
                     request["chunks"][i - 1][0].get<double>());
    }
    const auto tpot = tpot_ms_of(r);
    rows.push_back({{"id", request.at("id")},
                    {"output_tokens", r.output_tokens},
                    {"ttft", ttft_of(r).seconds()},
                    {"e2el", e2el_of(r).seconds()},
                    {"chunk_gaps", gaps},
                    {"tpot_vllm_mlperf_aiperfITL", tpot ? json(seconds(*tpot)) : json()},
                    {"guidellm_tpot", e2el_of(r).seconds() / r.output_tokens},
                    {"good", judge_slo(slo, r).all()}});
  }
  return rows;
}

json summary(const RunMetrics& metrics) {
  const RunSummary s = metrics.result();
  double tokens_per_s = 0;
  double guidellm = 0;
  std::int64_t with_tpot = 0;
  for (const RequestRecord& r : metrics.requests()) {
    guidellm += e2el_of(r).seconds() / r.output_tokens;
    if (const auto tpot = tpot_ms_of(r)) {
      tokens_per_s += 1e3 / *tpot;
      ++with_tpot;
    }
  }
  return {
      {"bench_duration_s", s.duration_s},
      {"request_throughput", s.request_throughput},
      {"output_throughput", s.output_throughput},
      {"total_token_throughput", s.total_token_throughput},
      {"request_goodput", s.request_goodput.value_or(0)},
      {"mean_ttft", seconds(s.ttft_ms.mean)},
      {"median_ttft", seconds(s.ttft_ms.median)},
      {"p99_ttft", seconds(s.ttft_ms.p99)},
      {"vllm",
       {{"mean_tpot", seconds(s.tpot_ms.mean)},
        {"p99_tpot", seconds(s.tpot_ms.p99)},
        {"mean_itl", seconds(s.itl_ms.mean)},
        {"median_itl", seconds(s.itl_ms.median)},
        {"p99_itl", seconds(s.itl_ms.p99)}}},
      {"aiperf",
       {{"mean_inter_token_latency", seconds(s.tpot_ms.mean)},
        {"output_tps_per_user_mean", tokens_per_s / static_cast<double>(with_tpot)}}},
      {"guidellm", {{"mean_time_per_output_token", guidellm / static_cast<double>(s.completed)}}}};
}

json rescaling(const json& recorded) {
  const auto gaps = recorded.at("raw_gamma_gaps").get<std::vector<double>>();
  const double rate = recorded.at("request_rate");
  double sum = 0;
  for (const double gap : gaps) sum += gap;
  const auto count = static_cast<std::int64_t>(gaps.size());
  const double factor = rescale_factor(sum, count, rate);
  json times = json::array();
  double clock = 0;
  for (const double gap : gaps) times.push_back(clock += gap * factor);
  return {{"raw_gamma_gaps", gaps}, {"request_rate", rate},
          {"num_requests", count},  {"target_total", static_cast<double>(count) / rate},
          {"scale", factor},        {"send_times", times}};
}

// Numbers that agree to the recording's nine places become equal to it.
void settle(const json& expected, json& got) {
  if (expected.is_number() && got.is_number()) {
    if (std::abs(expected.get<double>() - got.get<double>()) < 1e-9) got = expected;
  } else if (expected.is_object() && got.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (got.contains(key)) settle(value, got[key]);
    }
  } else if (expected.is_array() && got.is_array()) {
    for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
      settle(expected[i], got[i]);
    }
  }
}

}  // namespace

std::optional<Disagreement> replay_metrics(const json& recording, const std::filesystem::path&) {
  const RunMetrics metrics = measure(recording);
  json got = {{"per_request", per_request(recording, metrics)}, {"summary", summary(metrics)}};
  if (recording.contains("arrival_rescaling")) {
    got["arrival_rescaling"] = rescaling(recording["arrival_rescaling"]);
  }
  for (const char* input : {"schema", "requests", "slo"}) got[input] = recording.at(input);
  settle(recording, got);
  return compare_record(-1, recording, got, {});
}

}  // namespace headway::conformance
