#include "sim/report/pareto_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/core/text_table.h"
#include "sim/report/capacity_text.h"
#include "sim/report/csv_writer.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

// The last part of a dotted key, where no other axis ends alike.
std::string short_key(const std::vector<std::string>& keys, const std::string& key) {
  const auto last = [](const std::string& k) { return k.substr(k.rfind('.') + 1); };
  const auto alike =
      std::count_if(keys.begin(), keys.end(), [&](const auto& k) { return last(k) == last(key); });
  return alike > 1 ? key : last(key);
}

std::string usd_text(double usd) { return usd > 0 ? fmt::format("{:.3f}", usd) : "-"; }

std::string optional_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}

std::vector<std::string> heading(const ParetoTable& t, bool all) {
  std::vector<std::string> row;
  if (all) row.push_back("front");
  for (const std::string& key : t.shown) row.push_back(short_key(t.shown, key));
  for (const std::string& name :
       {load_unit(t), std::string("tokens/s/user"), std::string("tokens/s/GPU"),
        std::string("goodput req/s"), std::string("TTFT p99 ms"), std::string("TPOT mean ms"),
        std::string("USD/M tokens"), std::string("USD/M output")}) {
    row.push_back(name);
  }
  return row;
}

// Of the setup's settings those that tell it apart.
std::vector<std::string> shown_values(const ParetoTable& t, const ParetoSetup& p) {
  std::vector<std::string> values;
  for (const auto& [key, value] : p.settings) {
    const bool shown = std::find(t.shown.begin(), t.shown.end(), key) != t.shown.end();
    if (shown) values.push_back(value);
  }
  return values;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> cells(const ParetoTable& t, const ParetoSetup& p, bool all) {
  std::vector<std::string> row;
  if (all) row.push_back(p.on_front ? "*" : "");
  for (const std::string& value : shown_values(t, p)) row.push_back(value);
  row.push_back((p.always_met ? ">=" : "") + fmt::format("{:.4g}", p.load));
  row.push_back(fmt::format("{:.1f}", p.tokens_per_s_per_user));
  row.push_back(fmt::format("{:.1f}", p.tokens_per_s_per_gpu));
  row.push_back(optional_text(p.request_goodput));
  row.push_back(fmt::format("{:.0f}", p.ttft_p99_ms));
  row.push_back(fmt::format("{:.1f}", p.tpot_mean_ms));
  row.push_back(usd_text(p.usd_per_million_tokens));
  row.push_back(usd_text(p.usd_per_million_output_tokens));
  return row;
}

std::string title(const ParetoTable& t) {
  const CapacityOptions& o = t.options.search;
  std::string text = fmt::format("Pareto table of {}: tokens/s/user against tokens/s/GPU", t.name);
  if (t.options.fixed_load) {
    text += ", each setup at the load that its scenario states";
  } else {
    text += fmt::format(", each setup at {}", capacity_question(o));
  }
  const std::string slo = requirement_text(o.requirements);
  if (!slo.empty()) text += " with " + slo;
  return wrapped(text);
}

std::string left_out(const ParetoTable& t, ParetoSetup::Status status, const char* head) {
  std::string text;
  for (const ParetoSetup& p : t.points) {
    if (p.status == status) text += fmt::format("  {}: {}\n", p.label, p.reason);
  }
  return text.empty() ? "" : fmt::format("\n{}\n{}", head, text);
}

// Of a point that is kOk, from its GPUs to its front.
std::string csv_numbers(const ParetoSetup& p) {
  const auto known = [](double value) { return value > 0 ? fmt::format("{}", value) : ""; };
  const auto maybe = [](const std::optional<double>& v) { return v ? fmt::format("{}", *v) : ""; };
  return fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{}", p.gpus, p.load, p.load_low,
                     p.load_high, p.tokens_per_s_per_user, p.tokens_per_s_per_gpu,
                     known(p.usd_per_million_tokens), known(p.usd_per_million_output_tokens),
                     maybe(p.request_goodput), maybe(p.slo_attainment), p.ttft_p99_ms,
                     p.tpot_mean_ms, p.on_front ? 1 : 0);
}

Json number_or_null(double value) { return value > 0 ? Json(value) : Json(); }

Json point_json(const ParetoSetup& p) {
  Json settings = Json::object();
  for (const auto& [key, value] : p.settings) settings[key] = value;
  Json json = {{"point", p.index},
               {"label", p.label},
               {"settings", settings},
               {"status", status_name(p.status)}};
  if (p.status != ParetoSetup::Status::kOk) {
    json["reason"] = p.reason;
    return json;
  }
  json.update({{"gpus", p.gpus},
               {"load", p.load},
               {"load_low", p.load_low},
               {"load_high", p.load_high},
               {"always_met", p.always_met},
               {"tokens_per_s_per_user", p.tokens_per_s_per_user},
               {"tokens_per_s_per_gpu", p.tokens_per_s_per_gpu},
               {"usd_per_million_tokens", number_or_null(p.usd_per_million_tokens)},
               {"usd_per_million_output_tokens", number_or_null(p.usd_per_million_output_tokens)},
               {"request_goodput", p.request_goodput ? Json(*p.request_goodput) : Json()},
               {"slo_attainment", p.slo_attainment ? Json(*p.slo_attainment) : Json()},
               {"p99_ttft_ms", p.ttft_p99_ms},
               {"mean_tpot_ms", p.tpot_mean_ms},
               {"runs", p.runs},
               {"on_front", p.on_front}});
  return json;
}

}  // namespace

std::string short_keys(const ParetoTable& t) {
  std::vector<std::string> words;
  for (const std::string& key : t.shown) words.push_back(short_key(t.shown, key));
  return joined(words);
}

std::string short_label(const ParetoTable& t, const ParetoSetup& point) {
  return joined(shown_values(t, point));
}

std::string load_unit(const ParetoTable& t) {
  return t.options.fixed_load ? "load" : capacity_unit(t.options.search);
}

std::pair<std::size_t, std::size_t> front_size(const ParetoTable& t, std::int32_t gpus) {
  const auto all = points_of(t.points, gpus);
  const auto on = std::count_if(all.begin(), all.end(), [](const auto* p) { return p->on_front; });
  return {static_cast<std::size_t>(on), all.size()};
}

std::string pareto_text(const ParetoTable& t, bool all) {
  std::string text = title(t);
  for (const std::int32_t gpus : gpu_counts(t.points)) {
    const auto [on, of] = front_size(t, gpus);
    text += fmt::format("\n{} GPU{}: {} of {} setup{} on the front{}\n", gpus, gpus > 1 ? "s" : "",
                        on, of, of > 1 ? "s" : "",
                        all || on == of ? "" : " (--all shows the dominated ones too)");
    TextTable rows = {heading(t, all)};
    for (const ParetoSetup* p : points_of(t.points, gpus)) {
      if (all || p->on_front) rows.push_back(cells(t, *p, all));
    }
    text += aligned(rows);
  }
  const bool fixed = t.options.fixed_load;
  text += left_out(t, ParetoSetup::Status::kMissed,
                   fixed ? "Miss the SLO at this load:" : "Never meet the SLO:");
  text += left_out(t, ParetoSetup::Status::kRefused, "Cannot run:");
  return text + left_out(t, ParetoSetup::Status::kFailed, "Failed:");
}

Json pareto_json(const ParetoTable& t) {
  const CapacityOptions& o = t.options.search;
  Json slo = Json::array(), points = Json::array(), fronts = Json::array();
  for (const SloTarget& target : o.requirements.targets) slo.push_back(describe(target));
  for (const ParetoSetup& p : t.points) points.push_back(point_json(p));
  for (const std::int32_t gpus : gpu_counts(t.points)) {
    Json on = Json::array();
    for (const ParetoSetup* p : points_of(t.points, gpus)) {
      if (p->on_front) on.push_back(p->index);
    }
    fronts.push_back({{"gpus", gpus}, {"points", on}});
  }
  return {{"schema_version", 1},
          {"plan", t.name},
          {"axes", t.keys},
          {"find", load_unit(t)},
          {"fixed_load", t.options.fixed_load},
          {"slo", slo},
          {"attainment", o.requirements.attainment},
          {"points", points},
          {"fronts", fronts}};
}

std::string pareto_csv(const ParetoTable& t) {
  std::string csv = "point";
  for (const std::string& key : t.keys) csv += fmt::format(",{}", csv_cell(key));
  csv +=
      ",status,gpus,load,load_low,load_high,tokens_per_s_per_user,tokens_per_s_per_gpu,"
      "usd_per_million_tokens,usd_per_million_output_tokens,request_goodput,slo_attainment,"
      "p99_ttft_ms,mean_tpot_ms,on_front,reason\n";
  for (const ParetoSetup& p : t.points) {
    csv += std::to_string(p.index);
    for (const auto& [key, value] : p.settings) csv += fmt::format(",{}", csv_cell(value));
    csv += fmt::format(",{}", status_name(p.status));
    csv += p.status == ParetoSetup::Status::kOk ? csv_numbers(p) : std::string(13, ',');
    csv += fmt::format(",{}\n", csv_cell(p.reason));
  }
  return csv;
}

}  // namespace headway
