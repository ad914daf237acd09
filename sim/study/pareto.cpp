#include "sim/study/pareto.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/errors.h"
#include "sim/study/pareto_front.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

// Goodput counts by the scenario's limits; where it has none, by those of the targets.
void take_limits(const Requirements& required, Scenario& scenario) {
  if (required.attainment > 0 || scenario.slo.any()) return;
  for (const SloTarget& target : required.targets) {
    switch (target.metric) {
      case SloTarget::Metric::kTtft:
        scenario.slo.ttft_ms = target.limit_ms;
        break;
      case SloTarget::Metric::kTpot:
        scenario.slo.tpot_ms = target.limit_ms;
        break;
      case SloTarget::Metric::kE2el:
        scenario.slo.e2el_ms = target.limit_ms;
        break;
      default:
        break;  // no limit of a request
    }
  }
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::optional<double> optional_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json missed_json(const std::string& why) { return {{"missed", why}}; }

Json point_json(const Scenario& s, const CapacityOptions& o, const CapacityAnswer& a) {
  const RunSummary& run = a.at.summary;
  if (run.tpot_ms.mean <= 0) {
    throw StudyError(3, "no request has a second token, so there is no speed that a user sees");
  }
  return {{"gpus", a.gpus},
          {"load", shown_load(s, o, a, a.load)},
          {"load_low", shown_load(s, o, a, a.low)},
          {"load_high", shown_load(s, o, a, a.high)},
          {"always_met", a.kind == Edge::Kind::kAlwaysMet},
          {"tokens_per_s_per_user", 1000 / run.tpot_ms.mean},
          {"tokens_per_s_per_gpu", run.output_throughput / a.gpus},
          {"usd_per_million_tokens", a.usd_per_million_tokens},
          {"usd_per_million_output_tokens", a.usd_per_million_output_tokens},
          {"request_goodput", optional_json(run.request_goodput)},
          {"slo_attainment", optional_json(run.slo_attainment)},
          {"p99_ttft_ms", run.ttft_ms.p99},
          {"mean_tpot_ms", run.tpot_ms.mean},
          {"runs", a.runs}};
}

// As if the search had ended where the scenario stands.
CapacityAnswer fixed_answer(const Scenario& s, const CapacityOptions& o) {
  CapacityAnswer answer;
  answer.at = run_at_own_load(s, o);
  const WorkloadOptions& w = s.workload;
  answer.load = w.max_concurrency > 0 ? w.max_concurrency : answer.at.summary.arrival_rate;
  answer.low = answer.high = answer.load;
  answer.runs = 1;
  price(s, answer);
  return answer;
}

void read_point(const std::string& text, ParetoSetup& p) {
  const Json json = Json::parse(text);
  if (json.contains("missed")) {
    p.status = ParetoSetup::Status::kMissed;
    p.reason = json["missed"].get<std::string>();
    return;
  }
  p.gpus = json.at("gpus").get<std::int32_t>();
  p.load = json.at("load").get<double>();
  p.load_low = json.at("load_low").get<double>();
  p.load_high = json.at("load_high").get<double>();
  p.always_met = json.at("always_met").get<bool>();
  p.tokens_per_s_per_user = json.at("tokens_per_s_per_user").get<double>();
  p.tokens_per_s_per_gpu = json.at("tokens_per_s_per_gpu").get<double>();
  p.usd_per_million_tokens = json.at("usd_per_million_tokens").get<double>();
  p.usd_per_million_output_tokens = json.at("usd_per_million_output_tokens").get<double>();
  p.request_goodput = optional_of(json.at("request_goodput"));
  p.slo_attainment = optional_of(json.at("slo_attainment"));
  p.ttft_p99_ms = json.at("p99_ttft_ms").get<double>();
  p.tpot_mean_ms = json.at("mean_tpot_ms").get<double>();
  p.runs = json.at("runs").get<std::int64_t>();
}

bool first_tells(const PlanAxis& axis) {
  std::set<std::string> values;
  for (const auto& step : axis.values) values.insert(step.front());
  return values.size() == axis.values.size();
}

void refuse_axis(const Plan& plan, const std::string& key, const char* instead) {
  for (const PlanAxis& axis : plan.axes) {
    if (std::find(axis.keys.begin(), axis.keys.end(), key) == axis.keys.end()) continue;
    const auto place = plan.places.find(key);
    throw InputError(
        {plan.file, place == plan.places.end() ? key : place->second, "an axis " + key, instead});
  }
}

}  // namespace

const char* status_name(ParetoSetup::Status status) {
  switch (status) {
    case ParetoSetup::Status::kOk:
      return "ok";
    case ParetoSetup::Status::kMissed:
      return "missed";
    case ParetoSetup::Status::kRefused:
      return "refused";
    default:
      return "failed";
  }
}

void mark_fronts(std::vector<ParetoSetup>& points) {
  std::vector<ParetoSetup*> ok;
  std::vector<ParetoTrade> trades;
  for (ParetoSetup& point : points) {
    point.on_front = false;
    if (point.status != ParetoSetup::Status::kOk) continue;
    ok.push_back(&point);
    trades.push_back({point.gpus, point.tokens_per_s_per_user, point.tokens_per_s_per_gpu});
  }
  const std::vector<bool> on_front = on_pareto_front(trades);
  for (std::size_t i = 0; i < ok.size(); ++i) ok[i]->on_front = on_front[i];
}

std::vector<std::int32_t> gpu_counts(const std::vector<ParetoSetup>& points) {
  std::vector<std::int32_t> counts;
  for (const ParetoSetup& point : points) {
    if (point.status == ParetoSetup::Status::kOk) counts.push_back(point.gpus);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<const ParetoSetup*> points_of(const std::vector<ParetoSetup>& points,
                                          std::int32_t gpus) {
  std::vector<const ParetoSetup*> found;
  for (const ParetoSetup& point : points) {
    if (point.status == ParetoSetup::Status::kOk && point.gpus == gpus) found.push_back(&point);
  }
  std::stable_sort(found.begin(), found.end(), [](const ParetoSetup* a, const ParetoSetup* b) {
    return a->tokens_per_s_per_user > b->tokens_per_s_per_user;
  });
  return found;
}

Plan pareto_plan(const Plan& plan, const ParetoOptions& options) {
  refuse_axis(plan, "seed", "no seeds: a search draws its own (--seeds)");
  const CapacityOptions& o = options.search;
  if (!options.fixed_load) {
    const char* const instead = "other axes: this load is what is searched for (or --fixed-load)";
    switch (o.axis) {
      case CapacityAxis::kRate:
        refuse_axis(plan, "workload.request_rate", instead);
        refuse_axis(plan, "workload.rate_scale", instead);
        break;
      case CapacityAxis::kConcurrency:
        refuse_axis(plan, "workload.max_concurrency", instead);
        break;
      default:
        refuse_axis(plan, "cluster.replicas", instead);
    }
  }
  Json targets = Json::array();
  for (const SloTarget& target : o.requirements.targets) {
    targets.push_back({describe(target), target.limit_ms});  // the text is rounded
  }
  Json study = {{"slo", targets},
                {"attainment", o.requirements.attainment},
                {"fixed_load", options.fixed_load}};
  if (!options.fixed_load) {
    study["axis"] = static_cast<int>(o.axis);
    study["seeds"] = o.seeds;
    study["tolerance"] = o.tolerance;
    study["low"] = o.low;
    study["high"] = o.high;
    study["max_runs"] = o.max_runs;
  }
  Plan with_study = plan;
  with_study.study = Json{{"capacity", study}}.dump();
  return with_study;
}

PointRunner pareto_runner(const ParetoOptions& options) {
  return [options](const Scenario& given) {
    Scenario scenario = given;
    CapacityOptions search = options.search;
    take_limits(search.requirements, scenario);
    if (options.fixed_load) {
      const CapacityAnswer answer = fixed_answer(scenario, search);
      if (!answer.at.miss.empty()) return missed_json(answer.at.miss).dump();
      return point_json(scenario, search, answer).dump();
    }
    if (!draws_anything(scenario)) search.seeds = 1;
    try {
      return point_json(scenario, search, find_capacity(scenario, search)).dump();
    } catch (const StudyError& error) {
      if (error.exit_code() != 4) throw;
      return missed_json(error.what()).dump();
    }
  };
}

ParetoTable pareto_table(const Plan& plan, const ParetoOptions& options,
                         const std::vector<PointResult>& results) {
  ParetoTable table;
  table.name = plan.name;
  table.options = options;
  for (const PlanAxis& axis : plan.axes) {
    table.keys.insert(table.keys.end(), axis.keys.begin(), axis.keys.end());
    const auto end = first_tells(axis) ? axis.keys.begin() + 1 : axis.keys.end();
    table.shown.insert(table.shown.end(), axis.keys.begin(), end);
  }
  SIM_CHECK(static_cast<std::int64_t>(results.size()) == point_count(plan));
  for (const PlanPoint& at : plan_points(plan)) {
    const PointResult& result = results[static_cast<std::size_t>(at.index)];
    ParetoSetup& point = table.points.emplace_back();
    point.index = at.index;
    point.label = point_label(at);
    for (const Assignment& a : at.assignments) {
      point.settings.emplace_back(a.key, plain_value(a.value));
    }
    point.reason = result.reason;
    switch (result.status) {
      case PointStatus::kOk:
        read_point(result.result, point);
        break;
      case PointStatus::kRefused:
        point.status = ParetoSetup::Status::kRefused;
        break;
      default:
        point.status = ParetoSetup::Status::kFailed;
    }
  }
  mark_fronts(table.points);
  return table;
}

}  // namespace headway
