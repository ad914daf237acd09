#include "sim/report/html_plan.h"

#include <nlohmann/json.hpp>

#include "sim/report/html_page.h"
#include "sim/report/pareto_text.h"

namespace headway {
namespace {

nlohmann::ordered_json setup_data(const ParetoTable& table, const ParetoSetup& setup) {
  nlohmann::ordered_json out = {{"label", short_label(table, setup)},
                                {"status", status_name(setup.status)},
                                {"reason", setup.reason}};
  if (setup.status != ParetoSetup::Status::kOk) return out;
  const auto known = [](const std::optional<double>& value) {
    return value ? short_number(*value) : nlohmann::ordered_json();
  };
  out["on_front"] = setup.on_front;
  out["gpus"] = setup.gpus;
  out["load"] = short_number(setup.load);
  out["load_low"] = short_number(setup.load_low);
  out["load_high"] = short_number(setup.load_high);
  out["tokens_per_s_per_user"] = short_number(setup.tokens_per_s_per_user);
  out["tokens_per_s_per_gpu"] = short_number(setup.tokens_per_s_per_gpu);
  out["usd_per_million_output_tokens"] = short_number(setup.usd_per_million_output_tokens);
  out["ttft_p99_ms"] = short_number(setup.ttft_p99_ms);
  out["tpot_mean_ms"] = short_number(setup.tpot_mean_ms);
  out["goodput"] = known(setup.request_goodput);
  out["attainment"] = known(setup.slo_attainment);
  return out;
}

}  // namespace

nlohmann::ordered_json plan_report(const ReportHead& head, const ParetoTable& table) {
  nlohmann::ordered_json out = report_head("plan", head, {}, kMostColumns);
  out["plan"] = {{"keys", short_keys(table)},
                 {"load_unit", load_unit(table)},
                 {"setups", nlohmann::ordered_json::array()}};
  std::vector<ParetoPoint> points;
  for (const ParetoSetup& setup : table.points) {
    out["plan"]["setups"].push_back(setup_data(table, setup));
    if (setup.status != ParetoSetup::Status::kOk) continue;
    points.push_back({short_label(table, setup),
                      {setup.gpus, setup.tokens_per_s_per_user, setup.tokens_per_s_per_gpu}, true});
  }
  out["pareto"] = pareto_data(points);
  return out;
}

}  // namespace headway
