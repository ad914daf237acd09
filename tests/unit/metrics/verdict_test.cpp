#include "sim/metrics/verdict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <vector>

#include "sim/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

// Arrivals at a constant rate; the k-th stays latency(k) seconds, of which it queues `queueing`.
struct Run {
  Backlog backlog;
  VerdictFacts facts;
  Verdict verdict() const { return judge(backlog, facts); }
};

Run simulate(const std::vector<double>& arrivals, const std::function<double(double)>& latency,
             double queueing = 0) {
  struct Event {
    double time;
    int kind;  // 0 finish, 1 arrival
    double arrival;
    bool operator<(const Event& other) const {
      return time != other.time ? time < other.time : kind < other.kind;
    }
  };
  std::vector<Event> events;
  double total = 0, last = 0;
  for (double a : arrivals) {
    events.push_back({a, 1, a});
    events.push_back({a + latency(a), 0, a});
    total += latency(a);
    last = std::max(last, a + latency(a));
  }
  std::sort(events.begin(), events.end());
  Run run;
  for (const Event& e : events) {
    if (e.kind == 1) {
      run.backlog.on_arrival(0, SimTime::from_seconds(e.time));
    } else {
      run.backlog.on_finish(finished(0, e.arrival, e.arrival, e.time, e.time, 1, 1));
    }
  }
  run.backlog.on_end(SimTime::from_seconds(last));
  run.facts.completed = static_cast<std::int64_t>(arrivals.size());
  run.facts.mean_e2el_ms = 1e3 * total / static_cast<double>(arrivals.size());
  run.facts.mean_queue_ms = queueing * run.facts.mean_e2el_ms;
  return run;
}

std::vector<double> steady(double rate, double seconds) {
  std::vector<double> arrivals;
  for (int i = 0; i < static_cast<int>(rate * seconds); ++i) arrivals.push_back(i / rate);
  return arrivals;
}

TEST_CASE("a flat backlog is stable, from an empty start too", "[unit]") {
  // 4/s, 20 s each: 80 in the system after a ramp of 20 s.
  for (double seconds : {60.0, 600.0, 7200.0}) {
    const Verdict v = simulate(steady(4, seconds), [](double) { return 20.0; }).verdict();
    CHECK(v.load == Load::kStable);
    CHECK(v.trend_known);
    CHECK(std::abs(v.slope_per_s) < 0.01);
    CHECK(v.peak_in_system == 80);
  }
}

TEST_CASE("a backlog that grows at the rate the arrivals exceed the service is overloaded",
          "[unit]") {
  // Arrivals 10/s, served 8/s: the k-th waits for k/8 - k/10; the backlog grows by 2/s.
  const auto latency = [](double arrival) { return 1.0 + arrival * 10 * (1.0 / 8 - 1.0 / 10); };
  const Verdict v = simulate(steady(10, 1000), latency, 0.9).verdict();
  CHECK(v.load == Load::kOverloaded);
  CHECK(v.slope_per_s == Approx(2.0).epsilon(0.02));
  CHECK(v.growth_share == Approx(0.2).epsilon(0.02));
}

TEST_CASE("slow growth is backlogged, growth beyond the line overloaded", "[unit]") {
  const auto grows = [](double share) {
    // A share of arrivals is never worked off in time: latency rises by `share` per second.
    return simulate(steady(10, 2000), [share](double t) { return 1.0 + share / (1 - share) * t; })
        .verdict();
  };
  CHECK(grows(0.002).load == Load::kStable);
  CHECK(grows(0.03).load == Load::kBacklogged);
  CHECK(grows(0.03).slope_per_s == Approx(0.3).epsilon(0.05));
  CHECK(grows(0.30).load == Load::kOverloaded);
}

TEST_CASE("requests that mostly queue are backlogged without any growth", "[unit]") {
  const Verdict v = simulate(
                        steady(4, 600), [](double) { return 20.0; }, 0.7)
                        .verdict();
  CHECK(v.load == Load::kBacklogged);
  CHECK(v.growth_share == 0);
}

TEST_CASE("all at once has no arrival window and no slope", "[unit]") {
  const std::vector<double> burst(1000, 5.0);
  const Verdict v = simulate(
                        burst, [](double) { return 30.0; }, 0.8)
                        .verdict();
  CHECK_FALSE(v.trend_known);
  CHECK(v.slope_per_s == 0);
  CHECK(v.load == Load::kBacklogged);
  CHECK(v.peak_in_system == 1000);
}

TEST_CASE("a burst that is worked off does not turn the trend", "[unit]") {
  std::vector<double> arrivals = steady(4, 2000);
  for (int i = 0; i < 400; ++i) arrivals.push_back(1700 + 0.01 * i);
  std::sort(arrivals.begin(), arrivals.end());
  const Verdict v =
      simulate(arrivals, [](double t) { return t > 1700 && t < 1705 ? 60.0 : 20.0; }).verdict();
  CHECK(v.load == Load::kStable);
  CHECK(v.peak_in_system > 400);
}

TEST_CASE("a random queue below capacity is stable and one above it overloaded", "[unit]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (double rho : {0.5, 0.8, 1.2, 2.0}) {
      RandomStream random(seed, "verdict-test");
      Backlog backlog;
      std::queue<double> leaving;
      double t = 0, free_at = 0, sum = 0;
      int served = 0;
      const int n = 20'000;
      const auto leave_until = [&](double now) {
        for (; !leaving.empty() && leaving.front() <= now; leaving.pop()) {
          backlog.on_finish(finished(0, 0, 0, leaving.front(), leaving.front(), 1, 1));
        }
      };
      for (int i = 0; i < n; ++i) {
        t += random.exponential(1 / rho);
        leave_until(t);
        backlog.on_arrival(0, SimTime::from_seconds(t));
        free_at = std::max(free_at, t) + random.exponential(1.0);
        sum += free_at - t;
        leaving.push(free_at);
        ++served;
      }
      leave_until(free_at + 1);
      backlog.on_end(SimTime::from_seconds(free_at));
      const Verdict v = judge(backlog, {served, 1e3 * sum / n, 0, 0, 0, 0, 0});
      INFO("seed " << seed << " rho " << rho << " slope " << v.slope_per_s);
      CHECK(v.load == (rho < 1 ? Load::kStable : Load::kOverloaded));
      if (rho > 1) CHECK(v.slope_per_s == Approx(rho - 1).epsilon(0.25));
    }
  }
}

TEST_CASE("a preemption storm needs many preemptions and one of three costs", "[unit]") {
  Run run = simulate(steady(4, 600), [](double) { return 20.0; });
  VerdictFacts& f = run.facts;
  f.computed_tokens = 100'000;
  f.preemptions = 100;  // of 2400 requests
  CHECK_FALSE(run.verdict().preemption_storm);
  f.preemptions = 1300;  // more than one for two requests
  CHECK(run.verdict().preemption_storm);
  CHECK(run.verdict().preemptions_per_request == Approx(1300.0 / 2400));
  f.preemptions = 100;
  f.recomputed_tokens = 11'000;
  CHECK(run.verdict().preemption_storm);
  f.recomputed_tokens = 9'000;
  CHECK_FALSE(run.verdict().preemption_storm);
  f.mean_preemption_ms = 5'000;  // of 20 s
  CHECK(run.verdict().preemption_storm);
  f.preemptions = 9;  // too few to call a storm
  CHECK_FALSE(run.verdict().preemption_storm);
}

}  // namespace
}  // namespace headway
