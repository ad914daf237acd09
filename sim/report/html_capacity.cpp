#include "sim/report/html_capacity.h"

#include <nlohmann/json.hpp>

#include "sim/report/capacity_text.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

Json tried_data(const Requirements& requirements, const CapacityRun& run, double load) {
  const RunSummary& s = run.summary;
  Json values = Json::array();
  for (const SloTarget& target : requirements.targets) {
    values.push_back(short_number(value_of(target, s)));
  }
  return {{"load", short_number(load)},
          {"seed", run.seed},
          {"good", run.miss.empty()},
          {"miss", run.miss},
          {"request_throughput", short_number(s.request_throughput)},
          {"goodput", s.request_goodput ? short_number(*s.request_goodput) : Json()},
          {"attainment_percent",
           s.slo_attainment ? short_number(100 * *s.slo_attainment) : Json()},
          {"output_throughput", short_number(s.output_throughput)},
          {"targets_ms", values}};
}

}  // namespace

Json capacity_report(const ReportHead& head, const Scenario& scenario,
                     const CapacityOptions& options, const CapacityAnswer& answer,
                     const ReportRun& at, std::size_t columns) {
  Json out = report_head("capacity", head, {&at, 1}, columns);
  Json study = capacity_json(scenario, options, answer);
  study["text"] = capacity_answer(scenario, options, answer);
  study["targets"] = Json::array();
  for (const SloTarget& target : options.requirements.targets) {
    study["targets"].push_back({{"name", describe(target)}, {"limit_ms", target.limit_ms}});
  }
  study["tried"] = Json::array();
  std::vector<ParetoPoint> points;
  for (const CapacityRun& run : answer.tried) {
    const double load = shown_load(scenario, options, answer, run.load);
    study["tried"].push_back(tried_data(options.requirements, run, load));
    if (run.seed != scenario.seed) continue;  // the other seeds' points would lie on top of these
    const std::int32_t gpus = gpus_of(scenario_at(scenario, options.axis, run.load));
    points.push_back(
        pareto_point(load_text(options, load), gpus, run.summary, run.miss.empty()));
  }
  out["capacity"] = std::move(study);
  out["pareto"] = pareto_data(points);
  return out;
}

}  // namespace headway
