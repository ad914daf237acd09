#include "sim/report/result_json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/core/output_file.h"
#include "sim/report/names.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json embedded(const std::string& text) { return text.empty() ? Json() : Json::parse(text); }

Json rate_of(const RunSummary& s, const RunInfo& info) {
  // A trace whose arrivals all fall on one instant has no finite rate either.
  const bool at_once = s.arrival_rate == 0 && s.arrived > 1;
  const double rate = info.request_rate.value_or(at_once ? INFINITY : s.arrival_rate);
  return std::isinf(rate) ? Json("inf") : Json(rate);
}

void add_distribution(Json& out, const std::string& name, const Distribution& d) {
  out["mean_" + name + "_ms"] = d.mean;
  out["median_" + name + "_ms"] = d.median;
  out["std_" + name + "_ms"] = d.std;
  out["p50_" + name + "_ms"] = d.p50;
  out["p90_" + name + "_ms"] = d.p90;
  out["p95_" + name + "_ms"] = d.p95;
  out["p99_" + name + "_ms"] = d.p99;
}

template <std::size_t N>
Json tagged(const std::array<std::string_view, N>& tags, const std::array<double, N>& values) {
  Json out = Json::object();
  for (std::size_t i = 0; i < N; ++i) out[std::string(tags[i])] = values[i];
  return out;
}

Json attribution_json(const RunSummary& s) {
  Json out = tagged(kPartTags, s.attribution_ms);
  for (std::size_t i = kUsualParts; i < kLatencyParts; ++i) {
    if (s.attribution_ms[i] == 0) out.erase(std::string(kPartTags[i]));
  }
  return out;
}

Json kv_json(const RunSummary& s, const RunInfo& info) {
  Json budget = Json::object();
  for (const auto& [name, bytes] : info.kv_budget_bytes) budget[name] = bytes;
  const double queries = static_cast<double>(info.prefix_queries);
  Json kv = {
      {"num_gpu_blocks", info.num_gpu_blocks > 0 ? info.num_gpu_blocks : s.engine.kv_blocks_total},
      {"peak_blocks", s.engine.kv_peak_blocks},
      {"prefix_hit_rate", queries > 0 ? static_cast<double>(info.prefix_hits) / queries : 0.0},
      {"budget", budget},
      {"peak_share", s.engine.kv_peak_share},
      {"mean_share", s.engine.kv_mean_share},
      {"internal_waste", s.engine.kv_internal_waste},
      {"external_waste", s.engine.kv_external_waste}};
  if (!info.kv_layout.empty()) kv["layout"] = info.kv_layout;
  return kv;
}

Json engine_json(const UtilisationSummary& e) {
  Json classes = Json::object();
  for (std::size_t i = 0; i < kOpClasses; ++i) {
    classes[std::string(op_class_name(static_cast<OpClass>(i)))] = e.class_share[i];
  }
  return {{"replicas", e.replicas},
          {"busy_share", e.busy_share},
          {"mean_batch", e.mean_batch},
          {"mean_step_ms", e.mean_step_ms},
          {"mean_running", e.mean_running},
          {"mean_waiting", e.mean_waiting},
          {"prefill_tokens", e.prefill_tokens},
          {"decode_tokens", e.decode_tokens},
          {"recomputed_tokens", e.recomputed_tokens},
          {"gpu_s", e.gpu_s},
          {"host_s", e.host_s},
          {"gpu_time_share", classes}};
}

Json classes_json(const RunSummary& s) {
  Json list = Json::array();
  for (const ClassSummary& c : s.classes) {
    list.push_back({{"name", c.name},
                    {"requests", c.requests},
                    {"completed", c.completed},
                    {"slo_attainment", or_null(c.slo_attainment)},
                    {"request_goodput", or_null(c.request_goodput)},
                    {"mean_ttft_ms", c.mean_ttft_ms},
                    {"p99_ttft_ms", c.p99_ttft_ms},
                    {"p99_tpot_ms", c.p99_tpot_ms},
                    {"p99_e2el_ms", c.p99_e2el_ms}});
  }
  return list;
}

Json slo_json(const RunSummary& s) {
  if (!s.slo.any()) return {};
  return {{"ttft_ms", or_null(s.slo.ttft_ms)},
          {"tpot_ms", or_null(s.slo.tpot_ms)},
          {"e2el_ms", or_null(s.slo.e2el_ms)},
          {"ttft_attainment", or_null(s.ttft_attainment)},
          {"tpot_attainment", or_null(s.tpot_attainment)},
          {"e2el_attainment", or_null(s.e2el_attainment)}};
}

Json verdict_json(const Verdict& v) {
  return {{"load", std::string(load_name(v.load))},
          {"slope_per_s", v.trend_known ? Json(v.slope_per_s) : Json()},
          {"growth_share", v.growth_share},
          {"window_s", v.window_s},
          {"queueing_share", v.queueing_share},
          {"mean_in_system", v.mean_in_system},
          {"peak_in_system", v.peak_in_system},
          {"preemption_storm", v.preemption_storm},
          {"preemptions_per_request", v.preemptions_per_request},
          {"recomputed_share", v.recomputed_share}};
}

Json pools_json(const RunInfo& info) {
  Json list = Json::array();
  for (const PoolInfo& p : info.pools) {
    list.push_back({{"name", p.name},
                    {"role", p.role},
                    {"replicas", p.replicas},
                    {"gpus", p.gpus},
                    {"mean_replicas", p.mean_replicas},
                    {"completed", p.completed},
                    {"failed", p.failed},
                    {"utilisation", p.utilisation},
                    {"kv_peak_share", p.kv_peak_share},
                    {"mean_running", p.mean_running},
                    {"mean_waiting", p.mean_waiting},
                    {"gpu_hours", p.gpu_hours},
                    {"usd", or_null(p.usd)}});
  }
  return list;
}

// How the percentiles of the summary came about.
const char* percentiles_text(const RunSummary& s) {
  if (!s.exact_percentiles) return "sketch (0.1 %)";
  return s.exact_itl ? "exact" : "exact, of ITL by sketch (0.1 %)";
}

Json headway_json(const RunSummary& s, const RunInfo& info) {
  Json out = Json::object();
  out["schema_version"] = kResultSchemaVersion;
  out["version"] = info.version;
  out["scenario"] = embedded(info.scenario_json);
  out["seed"] = info.seed;
  out["fingerprint"] = info.fingerprint;
  out["wall_s"] = or_null(info.wall_s);
  out["steps"] = s.engine.steps;
  out["events"] = info.events;
  out["simulated_s"] = s.simulated_s;
  out["preemptions"] = s.engine.preemptions;
  out["kv"] = kv_json(s, info);
  if (info.speculation) {
    const SpeculationInfo& spec = *info.speculation;
    out["speculation"] = {{"drafts", spec.drafts},
                          {"drafted_tokens", spec.drafted_tokens},
                          {"accepted_tokens", spec.accepted_tokens},
                          {"acceptance_rate", spec.acceptance_rate},
                          {"mean_acceptance_length", spec.mean_acceptance_length},
                          {"per_position", spec.per_position}};
  }
  if (info.sharing) {
    const SharingInfo& sharing = *info.sharing;
    out["sharing"] = {{"requests", sharing.requests},
                      {"sequences", sharing.sequences},
                      {"forks", sharing.forks},
                      {"drops", sharing.drops},
                      {"copied_blocks", sharing.copied_blocks},
                      {"peak_blocks", sharing.peak_blocks},
                      {"peak_blocks_unshared", sharing.peak_blocks_unshared},
                      {"saving", sharing.saving}};
  }
  if (!info.pools.empty()) out["pools"] = pools_json(info);
  if (info.replica_failures > 0) {
    out["failures"] = {{"replicas", info.replica_failures}, {"retries", info.retries}};
  }
  if (info.host_hits > 0) {
    out["kv"]["host_hit_rate"] =
        static_cast<double>(info.host_hits) / static_cast<double>(info.prefix_queries);
  }
  if (info.transfers) {
    const TransferInfo& t = *info.transfers;
    out["transfer"] = {{"transfers", t.transfers},
                       {"bytes", t.bytes},
                       {"mean_ms", t.mean_ms},
                       {"mean_wait_ms", t.mean_wait_ms},
                       {"link_utilisation", t.link_utilisation}};
  }
  // Said where it is not what the contract promises.
  if (const std::string text = percentiles_text(s); text != "exact") out["percentiles"] = text;
  out["coverage"] = tagged(kCoverageTags, s.engine.coverage_share);
  out["attribution_ms"] = attribution_json(s);
  out["slo_attainment"] = or_null(s.slo_attainment);
  out["profile"] = embedded(info.profile_json);
  out["engine"] = engine_json(s.engine);
  out["slo"] = slo_json(s);
  if (!s.classes.empty()) out["classes"] = classes_json(s);
  out["verdict"] = verdict_json(s.verdict);
  out["mean_held_ms"] = s.mean_held_ms;
  out["steps_skipped"] = info.steps_skipped;
  return out;
}

void add_detail(Json& out, const std::vector<RequestRecord>& records) {
  std::vector<const RequestRecord*> by_id;
  by_id.reserve(records.size());
  for (const RequestRecord& r : records) by_id.push_back(&r);
  std::sort(by_id.begin(), by_id.end(),
            [](const RequestRecord* a, const RequestRecord* b) { return a->id < b->id; });
  for (const char* key : {"input_lens", "output_lens", "ttfts", "start_times", "errors"}) {
    out[key] = Json::array();
  }
  for (const RequestRecord* r : by_id) {
    out["input_lens"].push_back(r->prompt_tokens);
    out["output_lens"].push_back(r->failed ? 0 : r->output_tokens);
    out["ttfts"].push_back(r->failed ? 0.0 : ttft_of(*r).seconds());
    out["start_times"].push_back(r->arrival.seconds());
    out["errors"].push_back(r->failed ? r->finish_reason : "");
  }
}

}  // namespace

std::string current_date() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return {text, length};
}

Json result_json(const RunSummary& s, const RunInfo& info,
                 const std::vector<RequestRecord>* detail) {
  Json out = Json::object();
  out["date"] = or_null(info.date);
  out["backend"] = info.backend;
  out["model_id"] = info.model_id;
  out["num_prompts"] = s.arrived;
  out["request_rate"] = rate_of(s, info);
  out["burstiness"] =
      info.burstiness && std::isinf(*info.burstiness) ? Json("inf") : or_null(info.burstiness);
  out["max_concurrency"] = info.max_concurrency > 0 ? Json(info.max_concurrency) : Json();
  out["duration"] = s.duration_s;
  out["completed"] = s.completed;
  out["failed"] = s.failed;
  out["total_input_tokens"] = s.input_tokens;
  out["total_output_tokens"] = s.output_tokens;
  out["request_throughput"] = s.request_throughput;
  out["request_goodput"] = or_null(s.request_goodput);
  out["output_throughput"] = s.output_throughput;
  out["total_token_throughput"] = s.total_token_throughput;
  out["max_output_tokens_per_s"] = s.max_output_tokens_per_s;
  out["max_concurrent_requests"] = s.max_concurrent_requests;
  add_distribution(out, "ttft", s.ttft_ms);
  add_distribution(out, "tpot", s.tpot_ms);
  add_distribution(out, "itl", s.itl_ms);
  add_distribution(out, "e2el", s.e2el_ms);
  if (detail != nullptr) add_detail(out, *detail);
  out["headway"] = headway_json(s, info);
  return out;
}

void save_result(const std::string& path, const Json& result) {
  OutputFile file(path);
  file.write(result.dump(2));
  file.write("\n");
  file.commit();
}

}  // namespace headway
