#include <nlohmann/json.hpp>

#include "sim/report/cause_names.h"
#include "sim/report/causes_text.h"
#include "sim/report/names.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

template <std::size_t N>
Json by_tag(const std::array<std::string_view, N>& tags, const std::array<double, N>& values,
            std::size_t usual = N) {
  Json out = Json::object();
  for (std::size_t i = 0; i < N; ++i) {
    if (i < usual || values[i] != 0) out[std::string(tags[i])] = values[i];
  }
  return out;
}

Json figures_json(const RunSummary& s) {
  return {{"p99_ttft_ms", s.ttft_ms.p99},
          {"mean_e2el_ms", s.e2el_ms.mean},
          {"request_throughput", s.request_throughput},
          {"completed", s.completed},
          {"failed", s.failed}};
}

Json relief_json(const Relief& r) {
  Json out = {{"suspect", std::string(suspect_name(r.suspect))},
              {"key", r.change.key},
              {"value", r.change.value},
              {"meaning", r.meaning},
              {"helps", r.helps}};
  if (r.not_run.empty()) {
    out["after"] = figures_json(r.after.summary);
  } else {
    out["not_run"] = r.not_run;
  }
  return out;
}

}  // namespace

Json causes_json(const ExplainedRun& run, const Bottleneck& bottleneck) {
  const RunCausesResult& c = run.causes;
  Json out = figures_json(run.summary);
  out["tail"] = {{"requests", c.tail.requests},
                 {"from_ms", c.tail_from_ms},
                 {"mean_ttft_ms", c.tail.ttft_ms},
                 {"parts_ms", by_tag(kPartTags, c.tail.parts_ms, kUsualParts)},
                 {"queue_by_cause_ms", by_tag(kCauseTags, c.tail.queue_ms)}};
  out["mean"] = {{"e2el_parts_ms", by_tag(kPartTags, run.summary.attribution_ms, kUsualParts)},
                 {"queue_by_cause_ms", by_tag(kCauseTags, c.all.queue_ms)}};
  out["derived"] = c.derived;
  const MinuteLoad& m = c.busiest;
  out["busiest_minute"] = {{"from_s", 60 * m.minute},
                           {"arrivals", m.arrivals},
                           {"mean_running", m.mean_running},
                           {"mean_waiting", m.mean_waiting},
                           {"prefill_tokens", m.prefill_tokens},
                           {"decode_tokens", m.decode_tokens},
                           {"kv_peak_share", m.kv_peak_share},
                           {"preemptions", m.preemptions}};
  out["slowest"] = Json::array();
  for (const RequestRecord& r : c.slowest) {
    out["slowest"].push_back({{"request", r.id},
                              {"e2el_ms", (r.finish - r.arrival).ms()},
                              {"ttft_ms", (r.first_token - r.arrival).ms()}});
  }
  out["suspects"] = Json::array();
  for (const SuspectShare& s : bottleneck.suspects) {
    out["suspects"].push_back({{"suspect", std::string(suspect_name(s.suspect))},
                               {"of_tail_ttft", s.of_tail_ttft},
                               {"of_mean_e2el", s.of_mean_e2el}});
  }
  out["tried"] = Json::array();
  for (const Relief& r : bottleneck.tried) out["tried"].push_back(relief_json(r));
  const bool found = !bottleneck.tried.empty() && bottleneck.tried.back().helps;
  out["first_bottleneck"] =
      found ? Json(std::string(suspect_name(bottleneck.tried.back().suspect))) : Json();
  return out;
}

}  // namespace headway
