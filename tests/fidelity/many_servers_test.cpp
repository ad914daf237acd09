// Queueing theory of several servers: replicas that serve one request at a time, behind a router or
// behind one queue at the gateway.
#include <cmath>
#include <map>

#include "sim/core/random.h"
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

using namespace headway;

namespace {

constexpr int kServers = 4;
constexpr double kMeanService_ms = 1.0;

// Requests served one after the other, a microsecond a prompt token.
BenchEngine servers(int count, const std::string& router) {
  BenchEngine bench;
  bench.cost(0.0, 1.0, 0.0);
  bench.engine().max_num_seqs = 1;
  bench.engine().max_num_batched_tokens = bench.engine().max_model_len = 100'000;
  bench.blueprint.replica.max_model_len = 100'000;
  bench.scenario.cluster.replicas = count;
  bench.scenario.cluster.router = router;
  return bench;
}

// Poisson arrivals and exponential service: a trace of them.
std::string exponential_trace(int requests, double utilisation, std::uint64_t seed) {
  RandomStream gaps(seed, "gaps"), services(seed, "services");
  const double gap_s = kMeanService_ms / 1e3 / (kServers * utilisation);
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  double now_s = 0;
  for (int i = 0; i < requests; ++i) {
    now_s += gaps.exponential(gap_s);
    const auto tokens = std::max<std::int64_t>(1, std::llround(services.exponential(1000.0)));
    char row[64];
    std::snprintf(row, sizeof row, "%.9f,%lld,1\n", now_s, static_cast<long long>(tokens));
    text += row;
  }
  return text;
}

// What every request waited before it was served, in order of arrival; and who was how long busy.
class Waits : public Observer {
 public:
  void on_arrival(std::uint64_t, SimTime now) override { move(now, 1); }
  void on_step(const StepRecord& step) override { busy[step.replica] += step.duration; }
  void on_finish(const RequestRecord& r) override {
    move(r.finish, -1);
    const SimTime wait = r.split[static_cast<std::size_t>(LatencyPart::kQueue)];
    if (r.id >= waits.size()) waits.resize(r.id + 1);
    waits[r.id] = wait;
    waited += wait;
    sojourns += r.finish - r.arrival;
    served[r.replica] += r.finish - r.arrival - wait;
  }

  // The mean of those after the first tenth, and its standard error by batch means.
  struct Mean {
    double ms, error;
  };
  Mean mean() const {
    constexpr std::size_t kBatches = 30;
    const std::size_t skipped = waits.size() / 10, length = (waits.size() - skipped) / kBatches;
    double sum = 0, squares = 0;
    for (std::size_t b = 0; b < kBatches; ++b) {
      double batch = 0;
      for (std::size_t i = 0; i < length; ++i) batch += waits[skipped + b * length + i].ms();
      batch /= static_cast<double>(length);
      sum += batch;
      squares += batch * batch;
    }
    const double mean = sum / kBatches;
    return {mean, std::sqrt((squares / kBatches - mean * mean) / (kBatches - 1))};
  }

  std::vector<SimTime> waits;                   // by request
  std::map<std::uint32_t, SimTime> busy, served;  // by replica: in steps; in requests
  SimTime waited, sojourns;
  std::int64_t area_ns = 0;                     // of the number in the system

 private:
  void move(SimTime now, int change) {
    area_ns += in_system_ * (now - last_).ns();
    last_ = now;
    in_system_ += change;
  }
  std::int64_t in_system_ = 0;
  SimTime last_;
};

Waits run(BenchEngine& bench) {
  Waits waits;
  Observer* observers[] = {&waits};
  bench.run(observers);
  return waits;
}

// The chance that a request has to wait: c servers, offered load a (Erlang's C formula).
double erlang_c(int servers, double load) {
  double term = 1, sum = 0;
  for (int k = 0; k < servers; ++k) {
    sum += term;
    term *= load / (k + 1);
  }
  term *= servers / (servers - load);
  return term / (sum + term);
}
double mmc_wait_ms(int servers, double utilisation) {
  return erlang_c(servers, servers * utilisation) / (servers * (1 - utilisation)) * kMeanService_ms;
}

// M/D/c (Crommelin 1932): who is in service now has left a service time D later, so that the numbers
// at 0, D, 2 D ... are a chain, N' = max(N - c, 0) + Poisson arrivals of D. Its mean, by Little's law.
double mdc_wait_ms(int servers, double utilisation) {
  constexpr int kStates = 200;
  const double arrivals = servers * utilisation;
  std::vector<double> poisson(kStates), now(kStates), next(kStates);
  poisson[0] = std::exp(-arrivals);
  for (int k = 1; k < kStates; ++k) poisson[k] = poisson[k - 1] * arrivals / k;
  now[0] = 1;
  for (int round = 0; round < 1000; ++round) {
    std::fill(next.begin(), next.end(), 0.0);
    for (int n = 0; n < kStates; ++n) {
      const int left = std::max(n - servers, 0);
      for (int k = 0; left + k < kStates && k < 40; ++k) next[left + k] += now[n] * poisson[k];
    }
    now.swap(next);
  }
  double mean = 0;
  for (int n = 0; n < kStates; ++n) mean += n * now[n];
  return (mean / arrivals - 1) * kMeanService_ms;
}

void check_mean(const Waits& waits, double exact_ms) {
  const auto [mean_ms, error_ms] = waits.mean();
  INFO("mean " << mean_ms << " ms, standard error " << error_ms << ", exact " << exact_ms);
  CHECK(error_ms < 0.05 * exact_ms);
  CHECK(std::abs(mean_ms - exact_ms) < 3 * error_ms);
}

}  // namespace

TEST_CASE("M/M/c: one queue at the gateway; random routing is c times M/M/1; the shortest queue lies "
          "between", "[fidelity][fleet]") {
  constexpr double kUtilisation = 0.8;
  const test::TempFolder folder;
  folder.write("trace.csv", exponential_trace(100'000, kUtilisation, 1));
  const auto waits = [&](const char* router, bool one_queue) {
    BenchEngine bench = servers(kServers, router);
    bench.scenario.cluster.admission.max_outstanding_per_replica = one_queue ? 1 : 0;
    bench.workload().trace = folder / "trace.csv";
    return run(bench);
  };
  const Waits one_queue = waits("least-outstanding", true);
  check_mean(one_queue, mmc_wait_ms(kServers, kUtilisation));
  // Where they stand in one queue, it does not matter who serves them.
  CHECK(waits("random", true).waits == one_queue.waits);

  const Waits random = waits("random", false);
  check_mean(random, kUtilisation / (1 - kUtilisation) * kMeanService_ms);

  const Waits shortest = waits("least-outstanding", false);
  const auto [mean_ms, error_ms] = shortest.mean();
  CHECK(mean_ms - 3 * error_ms > mmc_wait_ms(kServers, kUtilisation));
  CHECK(mean_ms + 3 * error_ms < kUtilisation / (1 - kUtilisation) * kMeanService_ms);
  // Two choices are nearly as good as all (Mitzenmacher 1996), and far better than one.
  const double two_ms = waits("power-of-two", false).mean().ms;
  CHECK(two_ms > mean_ms);
  CHECK(two_ms < 0.6 * random.mean().ms);
}

TEST_CASE("M/D/c: one queue at the gateway, which round-robin is to the nanosecond",
          "[fidelity][fleet]") {
  CHECK(mdc_wait_ms(1, 0.8) == Approx(0.8 / (2 * 0.2)).epsilon(1e-6));  // Pollaczek and Khinchine
  const auto waits = [](const char* router, double utilisation, bool one_queue) {
    BenchEngine bench = servers(kServers, router);
    bench.scenario.cluster.admission.max_outstanding_per_replica = one_queue ? 1 : 0;
    bench.scenario.seed = 1;
    bench.workload().num_prompts = 80'000;
    bench.workload().request_rate = 1000 * kServers * utilisation / kMeanService_ms;
    bench.workload().input_len.value = 1000;
    return run(bench);
  };
  for (const double utilisation : {0.6, 0.75}) {
    INFO("utilisation " << utilisation);
    const Waits one_queue = waits("least-outstanding", utilisation, true);
    check_mean(one_queue, mdc_wait_ms(kServers, utilisation));
    // Services that take equally long end in the order in which they begin.
    CHECK(waits("round-robin", utilisation, false).waits == one_queue.waits);
    const Waits random = waits("random", utilisation, false);
    check_mean(random, utilisation / (2 * (1 - utilisation)) * kMeanService_ms);
    const double shortest_ms = waits("least-outstanding", utilisation, false).mean().ms;
    CHECK(shortest_ms >= one_queue.mean().ms);
    CHECK(shortest_ms < random.mean().ms);
  }
}

TEST_CASE("Little's law: of the fleet, of its queue, of every replica", "[fidelity][fleet]") {
  const test::TempFolder folder;
  folder.write("trace.csv", exponential_trace(20'000, 0.9, 2));
  for (const bool one_queue : {false, true}) {
    for (const char* router : {"random", "least-tokens", "power-of-two"}) {
      INFO(router << (one_queue ? ", one queue" : ""));
      BenchEngine bench = servers(kServers, router);
      bench.scenario.cluster.admission.max_outstanding_per_replica = one_queue ? 1 : 0;
      bench.workload().trace = folder / "trace.csv";
      const Waits w = run(bench);
      // Mean number in the system, times the time, is the sum of the sojourns: to the nanosecond.
      CHECK(w.area_ns == w.sojourns.ns());
      SimTime busy;
      for (const auto& [replica, time] : w.busy) busy += time;
      CHECK(w.sojourns - busy == w.waited);  // who is in the system and not served, waits
      // A replica is busy for as long as the requests say that it served them.
      CHECK(w.busy.size() == kServers);
      CHECK(w.busy == w.served);
    }
  }
}
