#include "sim/study/plan.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/core/hash.h"
#include "sim/core/parallel.h"
#include "sim/scenario/check.h"
#include "sim/scenario/document.h"

namespace headway {
namespace {

// The message in terms of the plan: which axis, and at which point.
template <typename Error>
Error blame(const Plan& plan, const PlanPoint& point, const Error& error) {
  InputError::Parts parts = error.parts();
  if (parts.found.empty() && parts.expected.empty()) return error;
  const std::string mark = std::string(kPlanFlag) + " ";
  const std::string label = point_label(point);
  const std::string where =
      label.empty() ? "" : " (point " + std::to_string(point.index) + ": " + label + ")";
  if (parts.place.starts_with(mark)) {
    const std::string key = parts.place.substr(mark.size());
    const auto known = plan.places.find(key);
    parts.file = plan.file;
    parts.place = (known != plan.places.end() ? known->second : key) + where;
  } else if (!where.empty()) {
    parts.place += where;
  }
  return Error(parts);
}

}  // namespace

std::int64_t point_count(const Plan& plan) {
  std::int64_t count = 1;
  for (const PlanAxis& axis : plan.axes) count *= static_cast<std::int64_t>(axis.values.size());
  return count;
}

PlanPoint plan_point(const Plan& plan, std::int64_t index) {
  SIM_CHECK(index >= 0 && index < point_count(plan));
  PlanPoint point;
  point.index = index;
  std::int64_t stride = point_count(plan);
  for (const PlanAxis& axis : plan.axes) {
    stride /= static_cast<std::int64_t>(axis.values.size());
    const auto step = static_cast<std::size_t>(index / stride);
    index %= stride;
    for (std::size_t k = 0; k < axis.keys.size(); ++k) {
      point.assignments.push_back({axis.keys[k], axis.values[step][k], kPlanFlag});
    }
  }
  return point;
}

std::vector<PlanPoint> plan_points(const Plan& plan) {
  std::vector<PlanPoint> points;
  const std::int64_t count = point_count(plan);
  points.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) points.push_back(plan_point(plan, i));
  return points;
}

std::string plain_value(const std::string& json) {
  const Json value = Json::parse(json);
  return value.is_string() ? value.get<std::string>() : json;
}

std::string point_label(const PlanPoint& point) {
  std::string label;
  for (const Assignment& a : point.assignments) {
    label += (label.empty() ? "" : ", ") + a.key + "=" + plain_value(a.value);
  }
  return label;
}

Scenario scenario_of(const Plan& plan, const PlanPoint& point) {
  std::vector<Assignment> all = plan.set;
  all.insert(all.end(), point.assignments.begin(), point.assignments.end());
  try {
    Scenario scenario = parse_scenario(plan.scenario_text, plan.scenario_file, all);
    if (plan.limit > 0) limit_requests(scenario, plan.limit);
    return scenario;
  } catch (const ContradictionError& error) {
    throw blame(plan, point, error);
  } catch (const InputError& error) {
    throw blame(plan, point, error);
  }
}

void check_plan(const Plan& plan, int threads, Contradictions contradictions) {
  parallel_for(static_cast<std::size_t>(point_count(plan)), threads, [&](std::size_t i) {
    try {
      scenario_of(plan, plan_point(plan, static_cast<std::int64_t>(i)));
    } catch (const ContradictionError&) {
      if (contradictions == Contradictions::kRefused) throw;
    }
  });
}

std::string plan_text(const Plan& plan) {
  Json set = Json::object(), axes = Json::array();
  for (const Assignment& a : plan.set) set[a.key] = Json::parse(a.value);
  for (const PlanAxis& axis : plan.axes) {
    Json steps = Json::array();
    for (const auto& step : axis.values) {
      Json values = Json::array();
      for (const std::string& value : step) values.push_back(Json::parse(value));
      steps.push_back(std::move(values));
    }
    axes.push_back({{"keys", axis.keys}, {"values", std::move(steps)}});
  }
  const Json text = {{"name", plan.name},
                     {"points", point_count(plan)},
                     {"limit", plan.limit},
                     {"set", std::move(set)},
                     {"axes", std::move(axes)},
                     {"scenario", read_document(plan.scenario_text, plan.scenario_file).root}};
  if (plan.study.empty()) return dump(text, 1) + "\n";
  Json with_study = text;
  with_study["study"] = Json::parse(plan.study);
  return dump(with_study, 1) + "\n";
}

Plan plan_from_text(const std::string& text, const std::string& file) {
  Plan plan;
  plan.file = file;
  try {
    const Json json = read_document(text, file).root;
    plan.name = json.at("name").get<std::string>();
    plan.limit = json.at("limit").get<std::int64_t>();
    plan.scenario_text = dump(json.at("scenario"));
    if (json.contains("study")) plan.study = dump(json.at("study"));
    for (const auto& item : json.at("set").items()) {
      plan.set.push_back({item.key(), dump(item.value()), kPlanFlag});
    }
    for (const Json& axis : json.at("axes")) {
      PlanAxis& added = plan.axes.emplace_back();
      added.keys = axis.at("keys").get<std::vector<std::string>>();
      for (const Json& step : axis.at("values")) {
        std::vector<std::string>& values = added.values.emplace_back();
        for (const Json& value : step) values.push_back(dump(value));
        if (values.size() != added.keys.size()) throw InputError("");
      }
    }
    if (json.at("points").get<std::int64_t>() != point_count(plan)) throw InputError("");
  } catch (const std::exception&) {
    throw InputError({file, "", "a damaged or foreign file", "the plan.json of a sweep's folder"});
  }
  return plan;
}

std::string plan_hash(const Plan& plan) {
  Plan nameless = plan;
  nameless.name.clear();
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(mix64(hash_name(plan_text(nameless)))));
  return text;
}

}  // namespace headway
