// One of a fleet's replicas fails: what do requests feel of it, and how many spare ones hide it?
#include <algorithm>
#include <deque>

#include "sim/core/errors.h"
#include "sim/core/number_text.h"
#include "sim/metrics/statistics.h"
#include "sim/study/planner/planner.h"

namespace headway {
namespace {

constexpr double kWindowS = 10;
constexpr std::int32_t kMostSpares = 3;
constexpr const char* kOther = "power-of-two";  // the router to compare the scenario's own with

// TTFT by the time of arrival; of requests that were lost with a replica by itself.
class TtftWindows final : public Observer {
 public:
  bool hears_steps() const override { return false; }
  void on_finish(const RequestRecord& r) override {
    if (r.failed) return;
    const double ttft_ms = (r.first_token - r.arrival).ms();
    if (r.split[static_cast<std::size_t>(LatencyPart::kRetry)] > SimTime()) {
      lost_ms_.push_back(ttft_ms);
      return;
    }
    const auto window = static_cast<std::size_t>(r.arrival.seconds() / kWindowS);
    if (window >= ttft_ms_.size()) ttft_ms_.resize(window + 1);
    ttft_ms_[window].push_back(ttft_ms);
  }

  // {middle of the window in seconds, its p99 in ms}
  std::vector<std::pair<double, double>> p99() const {
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < ttft_ms_.size(); ++i) {
      if (ttft_ms_[i].empty()) continue;
      const double middle = (static_cast<double>(i) + 0.5) * kWindowS;
      points.emplace_back(middle, distribution_of(ttft_ms_[i]).p99);
    }
    return points;
  }
  double lost_median_ms() const { return distribution_of(lost_ms_).median; }

 private:
  std::vector<std::vector<double>> ttft_ms_;
  std::vector<double> lost_ms_;
};

struct FailingFleet {
  Scenario scenario;
  std::int32_t spares = 0;
  bool fails = true;
  double worst_ms = 0, late_s = 0;  // the worst window; time in windows beyond the SLO
  double lost_s = 0;                // median TTFT of those that began anew
  std::int64_t retries = 0;

  std::string name() const {
    return std::to_string(scenario.cluster.replicas) + (fails ? "" : ", none fails");
  }
};

std::vector<FailingFleet> fleets_of(const std::string& name, const Scenario& base) {
  std::vector<FailingFleet> fleets;
  fleets.push_back({lecture_scenario(name, {{"cluster.failures", "[]"}}), 0, false});
  const auto add = [&](std::int32_t spares, const std::string& router) {
    const std::string replicas = std::to_string(base.cluster.replicas + spares);
    fleets.push_back(
        {lecture_scenario(name, {{"cluster.replicas", replicas}, {"cluster.router", router}}),
         spares});
  };
  for (std::int32_t spares = 0; spares <= kMostSpares; ++spares) add(spares, base.cluster.router);
  add(0, kOther);
  add(1, kOther);
  return fleets;
}

// How many spare replicas hide the failure behind that router.
std::string spares_text(const std::vector<FailingFleet>& fleets, const std::string& router) {
  const FailingFleet* most = nullptr;
  for (const FailingFleet& f : fleets) {
    if (!f.fails || f.scenario.cluster.router != router) continue;
    most = &f;
    if (f.late_s > 0) continue;
    const std::string spares = std::to_string(f.spares);
    return "behind " + router + " " + spares + " spare " + (f.spares == 1 ? "hides" : "hide") +
           " it (" + fixed(f.worst_ms, 0) + " ms at worst)";
  }
  return "behind " + router + " even " + std::to_string(most->spares) + " spare " +
         (most->spares == 1 ? "does" : "do") + " not hide it (" + fixed(most->worst_ms, 0) +
         " ms at worst)";
}

std::string failure_answer(const std::vector<FailingFleet>& fleets, double limit_ms) {
  const FailingFleet &calm = fleets[0], &bare = fleets[1];
  const std::string& router = bare.scenario.cluster.router;
  return "When one of " + std::to_string(bare.scenario.cluster.replicas) + " fails, " +
         std::to_string(bare.retries) + " requests begin anew and have their first token after " +
         fixed(bare.lost_s, 1) + " s; of all others p99 TTFT is beyond " + fixed(limit_ms, 0) +
         " ms for " + fixed(bare.late_s, 0) + " s, and " + fixed(bare.worst_ms, 0) +
         " ms in the worst " + fixed(kWindowS, 0) + " s instead of " + fixed(calm.worst_ms, 0) +
         "; " + spares_text(fleets, router) + ", " + spares_text(fleets, kOther) + ".";
}

}  // namespace

DemoAnswer run_failure_demo(const std::string& name) {
  const Scenario base = lecture_scenario(name);
  SIM_CHECK(base.slo.ttft_ms && base.cluster.lifecycle.failures.size() == 1);
  const double limit_ms = *base.slo.ttft_ms;
  std::vector<FailingFleet> fleets = fleets_of(name, base);
  std::vector<Scenario> scenarios;
  for (const FailingFleet& fleet : fleets) scenarios.push_back(fleet.scenario);
  std::deque<TtftWindows> windows(fleets.size());
  const std::vector<LectureRun> runs =
      run_fleets(scenarios, [&](std::size_t i) { return &windows[i]; });

  const std::string window = fixed(kWindowS, 0) + " s";
  DemoTable table{
      "",
      {{"router", "replicas", "spare", "begun anew", "their TTFT, s",
        "others: worst " + window + ", ms", "beyond the SLO, s", "in SLO, %", "GPU-hours"}}};
  Chart chart{"p99 TTFT of requests that were not lost, by time of arrival",
              "seconds",
              "ms, of " + window + " each",
              true,
              {},
              limit_ms};
  for (std::size_t i = 0; i < fleets.size(); ++i) {
    FailingFleet& fleet = fleets[i];
    for (const auto& [at_s, p99] : windows[i].p99()) {
      fleet.worst_ms = std::max(fleet.worst_ms, p99);
      if (p99 > limit_ms) fleet.late_s += kWindowS;
    }
    fleet.retries = runs[i].outcome.retries;
    fleet.lost_s = windows[i].lost_median_ms() / 1e3;
    const std::string& router = fleet.scenario.cluster.router;
    chart.series.push_back({fleet.name() + (fleet.fails ? ", " + router : ""), windows[i].p99()});
    table.rows.push_back(
        {router, fleet.name(), std::to_string(fleet.spares), std::to_string(fleet.retries),
         fleet.retries > 0 ? fixed(fleet.lost_s, 1) : "-", fixed(fleet.worst_ms, 0),
         fixed(fleet.late_s, 0), fixed(100 * runs[i].summary.slo_attainment.value_or(0), 2),
         fixed(gpu_hours(fleet.scenario, runs[i].outcome), 3)});
  }
  const FailureOptions& failure = base.cluster.lifecycle.failures.front();
  DemoAnswer demo;
  demo.setup =
      base.model.name + " on " + std::to_string(base.cluster.replicas) + " " + base.gpu_name +
      " (" + base.profile + "), " + significant(base.workload.request_rate, 3) +
      " requests a second; one replica fails after " + fixed(failure.at_s, 0) +
      " s and is back, empty, " + fixed(failure.down_s + base.cluster.lifecycle.startup_s, 0) +
      " s later. SLO: TTFT <= " + fixed(limit_ms, 0) + " ms. Spare: beyond the " +
      std::to_string(base.cluster.replicas) + ".";
  demo.tables = {table};
  demo.charts = {chart};
  demo.answer = failure_answer(fleets, limit_ms);
  return demo;
}

}  // namespace headway
