// A day's traffic on as many replicas as its noon needs, or on as many as the hour does.
#include <algorithm>
#include <deque>

#include "sim/core/errors.h"
#include "sim/core/number_text.h"
#include "sim/study/planner/planner.h"

namespace headway {
namespace {

constexpr const char* kTargets[] = {"9", "12", "20"};
constexpr const char* kStartups[] = {"60", "300", "1200"};
constexpr double kStepH = 0.25;  // of the chart of a day

// Replicas that take requests, by the hour.
class ReadyReplicas final : public Observer {
 public:
  bool hears_steps() const override { return false; }
  void on_fleet(const FleetRecord& fleet) override {
    const double hour = fleet.now.seconds() / 3600;
    fill(hour);
    ready_ = fleet.ready;
  }
  void on_end(SimTime now) override { fill(now.seconds() / 3600); }
  const std::vector<std::pair<double, double>>& points() const { return points_; }

 private:
  void fill(double until_h) {
    while (next_h_ < until_h) {
      points_.emplace_back(next_h_, ready_);
      next_h_ += kStepH;
    }
  }

  double next_h_ = 0;
  std::int32_t ready_ = 0;
  std::vector<std::pair<double, double>> points_;
};

struct Way {
  std::string name, startup, target;
  double hours = 0, usd = 0, p99_ms = 0, in_slo = 0;
  bool holds = false;
};

std::vector<Way> ways_of(const Scenario& base) {
  std::vector<Way> ways;
  for (std::int32_t n = 1; n < base.cluster.lifecycle.autoscaler->max_replicas; ++n) {
    ways.push_back({std::to_string(n) + " always", "-", "-"});
  }
  for (const char* startup : kStartups) {
    for (const char* target : kTargets) ways.push_back({"autoscaler", startup, target});
  }
  return ways;
}

Scenario scenario_of_way(const std::string& name, const Way& way) {
  if (way.target == "-") {
    const std::string replicas = way.name.substr(0, way.name.find(' '));
    return lecture_scenario(name, {{"cluster.autoscaler", "null"}, {"cluster.replicas", replicas}});
  }
  return lecture_scenario(
      name, {{"cluster.startup_s", way.startup}, {"cluster.autoscaler.target", way.target}});
}

// The cheapest of those that hold the SLO; null = none does.
const Way* cheapest(const std::vector<Way>& ways, const std::string& startup) {
  const Way* best = nullptr;
  for (const Way& way : ways) {
    if (!way.holds || way.startup != startup) continue;
    if (best == nullptr || way.hours < best->hours) best = &way;
  }
  return best;
}

std::string autoscaling_answer(const std::vector<Way>& ways) {
  const Way* fixed_fleet = cheapest(ways, "-");
  if (fixed_fleet == nullptr) return "No fleet of these holds the SLO, fixed or not.";
  std::string text = "A fleet that holds the SLO all day, " + fixed_fleet->name + ", takes " +
                     fixed(fixed_fleet->hours, 0) + " GPU-hours (" + fixed(fixed_fleet->usd, 0) +
                     " USD)";
  for (const char* startup : kStartups) {
    const Way* way = cheapest(ways, startup);
    text += std::string("; with ") + startup + " s to start a replica ";
    if (way == nullptr) {
      text += "no target holds it";
    } else {
      text += "a target of " + way->target + " holds it with " + fixed(way->hours, 0) +
              " GPU-hours (" + fixed(way->usd, 0) + " USD)";
      if (way->hours >= fixed_fleet->hours) text += " and saves nothing";
    }
  }
  return text + ".";
}

}  // namespace

DemoAnswer run_autoscaling_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  SIM_CHECK(base.slo.ttft_ms && base.cluster.lifecycle.autoscaler);
  const double limit_ms = *base.slo.ttft_ms;
  std::vector<Way> ways = ways_of(base);
  std::vector<Scenario> scenarios;
  for (const Way& way : ways) scenarios.push_back(scenario_of_way(name, way));
  std::deque<ReadyReplicas> ready(ways.size());
  const std::vector<LectureRun> runs =
      run_fleets(scenarios, [&](std::size_t i) { return &ready[i]; });

  DemoTable table{"",
                  {{"replicas", "start-up, s", "target", "GPU-hours", "USD", "TTFT p99, ms",
                    "in SLO, %", "p99 holds"}}};
  Chart price{
      "What a day costs, and what its users see", "GPU-hours", "p99 TTFT, ms", true, {}, limit_ms};
  Chart day{"Replicas that take requests", "hour of the day",
            "replicas, target " + std::string(kTargets[1])};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    Way& way = ways[i];
    const RunSummary& r = runs[i].summary;
    way.hours = gpu_hours(scenarios[i], runs[i].outcome);
    way.usd = way.hours * base.gpu.price_per_hour;
    way.p99_ms = r.ttft_ms.p99;
    way.in_slo = r.slo_attainment.value_or(0);
    way.holds = way.p99_ms <= limit_ms;
    table.rows.push_back({way.name, way.startup, way.target, fixed(way.hours, 0), fixed(way.usd, 0),
                          fixed(way.p99_ms, 0), fixed(100 * way.in_slo, 2),
                          way.holds ? "yes" : "no"});
    const std::string label =
        way.target == "-" ? "a fixed number" : "autoscaler, " + way.startup + " s to start one";
    if (price.series.empty() || price.series.back().label != label) {
      price.series.push_back({label, {}, true});
    }
    price.series.back().points.emplace_back(way.hours, way.p99_ms);
    if (way.target == kTargets[1]) day.series.push_back({label, ready[i].points()});
  }
  DemoAnswer demo;
  demo.setup = base.model.name + " on " + base.gpu_name + " (" + base.profile +
               "): " + grouped(base.workload.num_prompts) + " requests of a synthetic " +
               fixed(24 * base.workload.days, 0) +
               " hours, by day and night. SLO: p99 TTFT <= " + fixed(limit_ms, 0) +
               " ms. Target: requests under way a replica.";
  demo.tables = {table};
  demo.charts = {price, day};
  demo.answer = autoscaling_answer(ways);
  return demo;
}

}  // namespace headway
