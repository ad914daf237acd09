#include "sim/study/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "sim/cluster/simulation.h"
#include "sim/core/errors.h"
#include "sim/core/parallel.h"
#include "sim/metrics/paired.h"
#include "sim/scenario/metrics_options.h"

namespace headway {
namespace {

// How far a search goes by itself, and what a scenario may have.
constexpr double kMostReplicas = 4096, kMostConcurrency = 1e6;
constexpr double kEveryReplica = 1e5, kEveryConcurrency = 1e8;
// A rate is looked for as a multiple of the scenario's own; this far from it there is no answer.
constexpr double kRateReach = 1e6;
// Loads beside the answer at which the requirement should hold, and should not.
constexpr double kInside[] = {0.5, 0.8, 0.9}, kOutside[] = {1.1, 1.25};

const char* axis_key(CapacityAxis axis) {
  switch (axis) {
    case CapacityAxis::kRate: return "workload.request_rate";
    case CapacityAxis::kConcurrency: return "workload.max_concurrency";
    default: return "cluster.replicas";
  }
}

void check_axis(const Scenario& s, CapacityAxis axis) {
  const WorkloadOptions& w = s.workload;
  const bool closed = w.max_concurrency > 0;
  if (axis == CapacityAxis::kReplicas && !s.cluster.pools.empty()) {
    throw InputError({s.file, "cluster.pools", "replicas of several kinds",
                      "replicas that are alike, to search for their number (or --find rate)"});
  }
  if (axis == CapacityAxis::kReplicas && s.cluster.lifecycle.autoscaler) {
    throw InputError({s.file, "cluster.autoscaler", "a number of replicas that changes by itself",
                      "none, to search for a fixed number (or --find rate)"});
  }
  if (axis == CapacityAxis::kRate && closed) {
    throw InputError({s.file, "workload.max_concurrency", std::to_string(w.max_concurrency),
                      "an open loop, whose rate can be searched for (or --find concurrency)"});
  }
  if (axis == CapacityAxis::kRate && w.generated() && !(w.request_rate > 0)) {
    throw InputError({s.file, axis_key(axis), "none", "a rate to start from"});
  }
}

void check_limit(const CapacityOptions& o, const char* flag, double value) {
  if (value <= 0 || o.axis == CapacityAxis::kRate) return;
  const double most = o.axis == CapacityAxis::kReplicas ? kEveryReplica : kEveryConcurrency;
  if (value == std::floor(value) && value <= most) return;
  throw InputError({"command line", flag, fmt::format("{:g}", value),
                    fmt::format("a whole number of {}, 1 to {:.0f}",
                                o.axis == CapacityAxis::kReplicas ? "replicas" : "requests", most)});
}

CapacityRun run_once(const Scenario& s, std::vector<Blueprint> blueprints,
                     const CapacityOptions& options, double load) {
  // Tables are shared, draws are the run's own.
  for (Blueprint& b : blueprints) b.seed = b.scheduler.seed = s.seed;
  RunMetrics metrics(metrics_options(s.slo));
  Observer* observers[] = {&metrics};
  RunOptions run_options;
  run_options.step_by_step = options.step_by_step;
  simulate(s, blueprints, observers, run_options);
  CapacityRun run{load, s.seed, "", metrics.result()};
  const Requirements& required = options.requirements;
  if (required.any()) run.miss = first_miss(required, run.summary);
  return run;
}

// The simulations that a search asks for, each load and seed once.
class Runs {
 public:
  Runs(const Scenario& scenario, const CapacityOptions& options)
      : scenario_(scenario), options_(options), blueprints_(make_blueprints(scenario)) {}

  // By value: the map may move under another thread's hands.
  CapacityRun at(double load, std::size_t seed_index) {
    const auto key = std::make_pair(load, seed_index);
    {
      const std::lock_guard lock(mutex_);
      if (const auto it = done_.find(key); it != done_.end()) return it->second;
      if (begun_ >= options_.max_runs) {
        throw StudyError(3, fmt::format("no answer within {} runs (--max-runs): {}",
                                        options_.max_runs, known_so_far()));
      }
      ++begun_;
    }
    CapacityRun run = simulated(load, seed_index);
    const std::lock_guard lock(mutex_);
    if (options_.progress) {
      options_.progress(std::ssize(done_) + 1,
                        fmt::format("{}: {}", load_text(load), run.miss.empty() ? "good" : run.miss));
    }
    return done_.emplace(key, std::move(run)).first->second;
  }

  std::int64_t count() const { return begun_; }
  // Of every load and seed. REQUIRES: no search goes on.
  std::vector<CapacityRun> all() const {
    std::vector<CapacityRun> runs;
    for (const auto& [key, run] : done_) runs.push_back(run);
    return runs;
  }

  std::string load_text(double load) const {
    switch (options_.axis) {
      case CapacityAxis::kRate:
        return scenario_.workload.generated() ? fmt::format("{:.4g} requests/s", load)
                                              : fmt::format("{:.4g} times the trace's rate", load);
      case CapacityAxis::kConcurrency: return fmt::format("{:.0f} in flight", load);
      default: return fmt::format("{:.0f} replicas", load);
    }
  }

 private:
  CapacityRun simulated(double load, std::size_t seed_index) const {
    Scenario s = scenario_at(scenario_, options_.axis, load);
    s.seed += seed_index;
    return run_once(s, blueprints_, options_, load);
  }

  std::string known_so_far() const {
    std::string good = "none", bad = "none";
    for (const auto& [key, run] : done_) {
      if (key.second != 0) continue;
      (run.miss.empty() ? good : bad) = load_text(run.load);
      if (!run.miss.empty() && options_.axis != CapacityAxis::kReplicas) break;
    }
    return "good at " + good + ", missed at " + bad;
  }

  const Scenario& scenario_;
  const CapacityOptions& options_;
  const std::vector<Blueprint> blueprints_;
  mutable std::mutex mutex_;
  std::map<std::pair<double, std::size_t>, CapacityRun> done_;
  std::int64_t begun_ = 0;
};

class CapacitySearch {
 public:
  CapacitySearch(const Scenario& scenario, const CapacityOptions& options)
      : scenario_(scenario), options_(options), runs_(scenario, options) {}

  CapacityAnswer run() {
    const Edge first = edge_of(first_options(), 0);
    answer_.kind = first.kind;
    if (first.kind == Edge::Kind::kNeverMet) refuse(first);
    search_other_seeds(first);
    if (always_met(first)) {
      answer_.load = answer_.low = answer_.high = first.bad;
      answer_.at = runs_.at(first.bad, 0);
      count_runs();
      return answer_;
    }
    answer_.kind = Edge::Kind::kFound;
    answer_.at = runs_.at(first.good, 0);
    answer_.beyond = runs_.at(first.bad, 0);
    if (first.kind == Edge::Kind::kFound) check_around(first);
    summarise();
    return answer_;
  }

 private:
  bool whole() const { return options_.axis != CapacityAxis::kRate; }
  bool good_is_low() const { return options_.axis != CapacityAxis::kReplicas; }

  EdgeOptions first_options() const {
    EdgeOptions o;
    const WorkloadOptions& w = scenario_.workload;
    double least = 1, most = kMostReplicas;
    switch (options_.axis) {
      case CapacityAxis::kRate:
        o.start = w.generated() ? w.request_rate : w.rate_scale;
        if (!std::isfinite(o.start)) o.start = 1;
        least = o.start / kRateReach;
        most = o.start * kRateReach;
        break;
      case CapacityAxis::kConcurrency:
        o.start = std::max(1, w.max_concurrency);
        most = kMostConcurrency;
        break;
      default: o.start = scenario_.cluster.replicas;
    }
    if (options_.low > 0) least = options_.low;
    if (options_.high > 0) most = options_.high;
    o.start = std::clamp(o.start, least, most);
    o.nearest = good_is_low() ? least : most;
    o.farthest = good_is_low() ? most : least;
    o.tolerance = options_.tolerance;
    o.whole = whole();
    o.good_is_low = good_is_low();
    return o;
  }

  Edge edge_of(const EdgeOptions& o, std::size_t seed) {
    return find_edge(o, [&](double load) { return runs_.at(load, seed).miss.empty(); });
  }

  [[noreturn]] void refuse(const Edge& edge) {
    const CapacityRun run = runs_.at(edge.good, 0);
    throw StudyError(4, fmt::format("the SLO is never met: even at {}, {}",
                                    runs_.load_text(edge.good), run.miss));
  }

  // By every draw of the workload.
  bool always_met(const Edge& first) const {
    if (first.kind != Edge::Kind::kAlwaysMet) return false;
    return std::all_of(answer_.by_seed.begin(), answer_.by_seed.end(),
                       [&](double load) { return load == first.bad; });
  }

  // The others' answers are near the first one's: they begin there, with small steps.
  void search_other_seeds(const Edge& first) {
    answer_.by_seed.assign(static_cast<std::size_t>(options_.seeds), first.good);
    EdgeOptions o = first_options();
    o.start = first.good;
    o.first_factor = whole() ? 1.1 : 1 + 4 * options_.tolerance;
    parallel_for(answer_.by_seed.size() - 1, options_.threads, [&](std::size_t i) {
      const Edge edge = edge_of(o, i + 1);
      answer_.by_seed[i + 1] = edge.kind == Edge::Kind::kAlwaysMet ? edge.bad : edge.good;
      if (edge.kind == Edge::Kind::kNeverMet) answer_.by_seed[i + 1] = 0;
    });
  }

  // The search found one edge. That there is no other near it is looked at.
  void check_around(const Edge& first) {
    std::vector<std::pair<double, bool>> expected;
    for (const double share : kInside) expected.emplace_back(side(first.good, share), true);
    for (const double share : kOutside) expected.emplace_back(side(first.bad, share), false);
    for (const auto& [load, good] : expected) {
      if (load <= 0 || load == first.good || load == first.bad) continue;
      if (std::find(answer_.checked.begin(), answer_.checked.end(), load) != answer_.checked.end()) {
        continue;
      }
      answer_.checked.push_back(load);
      if (runs_.at(load, 0).miss.empty() != good) answer_.odd.push_back(load);
    }
  }

  double side(double edge, double share) const {
    const double load = good_is_low() ? edge * share : edge / share;
    return whole() ? std::round(load) : load;
  }

  void summarise() {
    const std::vector<double>& all = answer_.by_seed;
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    if (options_.axis == CapacityAxis::kReplicas) {
      answer_.load = *most;
      answer_.low = *least;
      answer_.high = *most;
    } else if (all.size() < 2) {
      answer_.load = answer_.low = all.front();
      answer_.high = answer_.beyond.load;
    } else {
      const PairedDifference mean = bootstrap_mean(all, scenario_.seed + 1);
      answer_.load = mean.mean;
      answer_.low = mean.low;
      // A search stops at the last load that is good; the edge is up to a tolerance further.
      answer_.high = whole() ? mean.high + 1 : mean.high * (1 + options_.tolerance);
    }
    count_runs();
  }

  void count_runs() {
    price(options_.axis == CapacityAxis::kReplicas
              ? scenario_at(scenario_, options_.axis, answer_.load)
              : scenario_,
          answer_);
    answer_.runs = runs_.count();
    answer_.tried = runs_.all();
  }

  const Scenario& scenario_;
  const CapacityOptions& options_;
  Runs runs_;
  CapacityAnswer answer_;
};

}  // namespace

Scenario scenario_at(const Scenario& scenario, CapacityAxis axis, double load) {
  Scenario s = scenario;
  switch (axis) {
    case CapacityAxis::kRate:
      (s.workload.generated() ? s.workload.request_rate : s.workload.rate_scale) = load;
      break;
    case CapacityAxis::kConcurrency:
      s.workload.max_concurrency = static_cast<std::int32_t>(load);
      break;
    default: s.cluster.replicas = static_cast<std::int32_t>(load);
  }
  return s;
}

CapacityAnswer find_capacity(const Scenario& scenario, const CapacityOptions& options) {
  check_axis(scenario, options.axis);
  check_limit(options, "--low", options.low);
  check_limit(options, "--high", options.high);
  SIM_CHECK(options.tolerance >= kLeastTolerance && options.seeds >= 1);
  return CapacitySearch(scenario, options).run();
}

CapacityRun run_at_own_load(const Scenario& s, const CapacityOptions& options) {
  return run_once(s, make_blueprints(s), options, 0);
}

double shown_load(const Scenario& s, const CapacityOptions& o, const CapacityAnswer& a,
                  double load) {
  // A trace's rate is a multiple of what it was recorded at.
  if (o.axis != CapacityAxis::kRate || s.workload.generated() || a.at.load <= 0) return load;
  return load / a.at.load * a.at.summary.arrival_rate;
}

void price(const Scenario& s, CapacityAnswer& answer) {
  answer.gpus = gpus_of(s);
  const RunSummary& run = answer.at.summary;
  const double usd_per_s = usd_per_hour(s) / 3600;
  if (usd_per_s <= 0 || run.output_throughput <= 0) return;
  answer.usd_per_million_output_tokens = usd_per_s / run.output_throughput * 1e6;
  answer.usd_per_million_tokens = usd_per_s / run.total_token_throughput * 1e6;
}

bool draws_anything(const Scenario& s) {
  const std::string& router = s.cluster.router;
  return s.workload.trace.empty() || router == "random" || router == "power-of-two" ||
         s.speculation.on() || s.cluster.lifecycle.failures_random;
}

}  // namespace headway
