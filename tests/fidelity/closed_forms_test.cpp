// Queueing theory and arithmetic that a simulator must reproduce, whatever yesterday's output was.
#include <limits>
#include <map>

#include "sim/metrics/run_metrics.h"
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

// Integrates the number of requests in the system, from the announcements alone.
class InSystem : public Observer {
 public:
  void on_arrival(std::uint64_t, SimTime now) override { move(now, 1); }
  void on_finish(const RequestRecord& r) override {
    move(r.finish, -1);
    sojourn_s_ += (r.finish - r.arrival).seconds();
    ++finished_;
  }
  double mean_in_system() const { return area_s_ / last_.seconds(); }
  double mean_sojourn_s() const { return sojourn_s_ / finished_; }
  double rate() const { return finished_ / last_.seconds(); }

 private:
  void move(SimTime now, int change) {
    area_s_ += in_system_ * (now - last_).seconds();
    last_ = now;
    in_system_ += change;
  }
  double area_s_ = 0, sojourn_s_ = 0, finished_ = 0;
  int in_system_ = 0;
  SimTime last_;
};

}  // namespace

TEST_CASE("M/D/1: mean wait is rho D / 2 (1 - rho)", "[fidelity]") {
  for (const double rho : {0.3, 0.6}) {
    BenchEngine bench;
    bench.engine().max_num_seqs = 1;
    bench.workload().num_prompts = 400'000;
    bench.workload().request_rate = rho * 1000.0;  // service takes one step of 1 ms
    RunMetrics metrics;
    Observer* observers[] = {&metrics};
    bench.run(observers);
    const double wait_ms = metrics.result().e2el_ms.mean - 1.0;
    INFO("rho = " << rho);
    CHECK(wait_ms == Approx(rho / (2 * (1 - rho))).epsilon(0.01));
    CHECK(metrics.result().attribution_ms[static_cast<std::size_t>(LatencyPart::kQueue)] ==
          Approx(wait_ms).epsilon(1e-6));
  }
}

TEST_CASE("Little's law: mean number in the system is rate x mean latency", "[fidelity]") {
  for (const char* scheduler : {"vllm-v1", "orca", "static"}) {
    BenchEngine bench(scheduler);
    bench.cost(5000.0, 20.0, 50.0);
    bench.engine().max_num_seqs = 8;
    bench.engine().batch_size = 8;
    bench.engine().batch_timeout_ms = 50;
    bench.workload().num_prompts = 5000;
    bench.workload().request_rate = 20;
    bench.workload().output_len.value = 20;
    InSystem in_system;
    Observer* observers[] = {&in_system};
    bench.run(observers);
    INFO(scheduler);
    CHECK(in_system.mean_in_system() ==
          Approx(in_system.rate() * in_system.mean_sojourn_s()).epsilon(1e-9));
  }
}

TEST_CASE("saturation: full batches give batch / step time", "[fidelity]") {
  BenchEngine bench;
  bench.cost(10'000.0, 0.0, 100.0);  // a step of 32 decodes: 13.2 ms
  bench.engine().max_num_seqs = 32;
  bench.workload().num_prompts = 3200;
  bench.workload().request_rate = std::numeric_limits<double>::infinity();
  bench.workload().output_len.value = 101;
  RunMetrics metrics;
  Observer* observers[] = {&metrics};
  bench.run(observers);
  // 100 cohorts of 32: one prefill step of 10 ms, then 100 decode steps, each.
  const double seconds = 100 * (0.010 + 100 * 0.0132);
  CHECK(metrics.result().duration_s == Approx(seconds).epsilon(1e-9));
  CHECK(metrics.result().output_throughput == Approx(3200 * 101 / seconds).epsilon(1e-9));
}

TEST_CASE("one request by hand: TTFT, TPOT, E2EL and their parts", "[fidelity]") {
  BenchEngine bench;
  bench.cost(2000.0, 10.0, 300.0);
  bench.engine().max_num_batched_tokens = 512;
  bench.blueprint.replica.host.per_request = SimTime::from_ms(25);
  bench.blueprint.replica.host.per_step = SimTime::from_us(400);
  bench.blueprint.replica.host.per_sequence = SimTime::from_us(5);
  bench.workload().input_len.value = 1000;  // chunks of 512 and 488
  bench.workload().output_len.value = 11;
  RunMetrics metrics;
  Observer* observers[] = {&metrics};
  const RunOutcome outcome = bench.run(observers);
  const RunSummary r = metrics.result();
  const double host_step = 0.405, prefill = 2.0 + 5.12 + 2.0 + 4.88, decode = 10 * 2.3;
  CHECK(outcome.steps == 12);
  CHECK(r.ttft_ms.mean == Approx(25 + prefill + 2 * host_step));
  CHECK(r.tpot_ms.mean == Approx(2.3 + host_step));
  CHECK(r.e2el_ms.mean == Approx(25 + prefill + decode + 12 * host_step));
  CHECK(r.attribution_ms[static_cast<std::size_t>(LatencyPart::kQueue)] == 0.0);
  CHECK(r.attribution_ms[static_cast<std::size_t>(LatencyPart::kPrefill)] == Approx(prefill));
  CHECK(r.attribution_ms[static_cast<std::size_t>(LatencyPart::kDecode)] == Approx(decode));
  CHECK(r.attribution_ms[static_cast<std::size_t>(LatencyPart::kHost)] ==
        Approx(25 + 12 * host_step));
}

TEST_CASE("asynchronous scheduling plans one step ahead: an arrival waits for the step after next",
          "[fidelity]") {
  BenchEngine bench;
  bench.cost(1000.0, 0.0, 0.0);
  bench.workload().num_prompts = 2;
  bench.workload().request_rate = std::numeric_limits<double>::infinity();
  bench.workload().output_len.value = 5;
  const auto e2el_ms = [&] {
    RunMetrics metrics;
    Observer* observers[] = {&metrics};
    bench.run(observers);
    return metrics.result().e2el_ms.mean;
  };
  // Both start together: no step is lost to asynchrony when the length is known in advance.
  const double sync = e2el_ms();
  bench.engine().async_scheduling = true;
  bench.blueprint.scheduler.batches_in_flight = bench.blueprint.replica.batches_in_flight = 2;
  CHECK(sync == Approx(5.0));
  CHECK(e2el_ms() == Approx(5.0));
}
