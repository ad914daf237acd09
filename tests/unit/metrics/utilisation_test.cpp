#include "sim/metrics/utilisation.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/metrics/decode_run.h"
#include "sim/replica/decode_run.h"
#include "tests/support/catch.h"
#include "tests/support/fixed_cost.h"
#include "tests/support/records.h"

namespace headway {
namespace {

StepRecord step(std::uint32_t replica, double start, double duration, std::int32_t batch,
                std::int64_t kv_blocks) {
  StepRecord s;
  s.replica = replica;
  s.start = SimTime::from_seconds(start);
  s.duration = SimTime::from_seconds(duration);
  s.batch = batch;
  s.kv_blocks = kv_blocks;
  s.kv_blocks_total = 100;
  s.running = batch;
  s.waiting = 2 * batch;
  s.gpu = SimTime::from_seconds(duration * 0.75);
  s.host = SimTime::from_seconds(duration * 0.25);
  return s;
}

TEST_CASE("means are weighted by time, over busy time and over the run", "[unit]") {
  Utilisation u;
  u.on_step(step(0, 0, 1, 10, 20));
  u.on_step(step(0, 1, 3, 30, 60));  // then idle to 10
  const UtilisationSummary r = u.result(SimTime::from_seconds(10));
  CHECK(r.steps == 2);
  CHECK(r.busy_s == 4);
  CHECK(r.busy_share == Approx(0.4));
  CHECK(r.mean_batch == Approx((10 * 1 + 30 * 3) / 4.0));
  CHECK(r.mean_step_ms == Approx(2000));
  CHECK(r.mean_running == Approx(10.0));
  CHECK(r.mean_waiting == Approx(20.0));
  CHECK(r.kv_peak_blocks == 60);
  CHECK(r.kv_peak_share == Approx(0.6));
  CHECK(r.kv_mean_share == Approx((0.2 * 1 + 0.6 * 3) / 4));
  CHECK(r.gpu_s == Approx(3));
  CHECK(r.host_s == Approx(1));
}

TEST_CASE("overlapping steps of one replica count an instant once", "[unit]") {
  Utilisation u;
  u.on_step(step(0, 0, 2, 10, 10));
  u.on_step(step(0, 1, 2, 40, 10));  // adds 2..3 only
  u.on_step(step(1, 0, 3, 20, 10));  // another replica
  const UtilisationSummary r = u.result(SimTime::from_seconds(3));
  CHECK(r.replicas == 2);
  CHECK(r.busy_s == 6);
  CHECK(r.busy_share == Approx(1));
  CHECK(r.mean_batch == Approx((10 * 2 + 40 * 1 + 20 * 3) / 6.0));
  CHECK(r.mean_running == Approx((10 * 2 + 40 * 1 + 20 * 3) / 3.0));
}

TEST_CASE("GPU time is shared out by class and by coverage", "[unit]") {
  Utilisation u;
  StepRecord s = step(0, 0, 1, 1, 1);
  s.by_class_us = {60, 20, 10, 5, 5, 0, 0};
  s.coverage_us = {50, 30, 20, 0};
  s.preempted = 2;
  s.prefill_tokens = 100;
  s.recomputed_tokens = 40;
  s.decode_tokens = 7;
  s.kv_tokens_reserved = 160;
  s.kv_tokens_stored = 120;
  s.kv_largest_free_run = 33;  // of 99 free
  u.on_step(s);
  const UtilisationSummary r = u.result(SimTime::from_seconds(1));
  CHECK(r.class_share[0] == Approx(0.6));
  CHECK(r.class_share[3] == Approx(0.05));
  CHECK(r.coverage_share[0] == Approx(0.5));
  CHECK(r.coverage_share[2] == Approx(0.2));
  CHECK(r.preemptions == 2);
  CHECK(r.recomputed_tokens == 40);
  CHECK(r.kv_internal_waste == Approx(0.25));
  CHECK(r.kv_external_waste == Approx(2.0 / 3));
  CHECK(Utilisation().result(SimTime()).busy_share == 0);
}

// Seven steps of 0.3 s and more, three sequences; every other one takes a block, and one had left with
// two before the second step.
struct SevenSteps {
  SevenSteps() {
    record.first = step(0, 10, 0.3, 3, 40);
    record.first.decode_tokens = 3;
    record.first.running = 4;
    record.first.host = SimTime::from_ms(1);
    record.first.gpu = record.first.duration - record.first.host;
    record.first.kv_tokens_reserved = 40 * 16;
    record.first.kv_tokens_stored = 600;
    record.gaps_ns = gaps;
    record.last_end = record.first_end();
    for (const std::int32_t gap : gaps) {
      record.last_end += SimTime::from_ns(gap);
      record.ends_after_first_ns += (record.last_end - record.first_end()).ns();
    }
    record.prices = prices.get();
    record.sampled_sequences = 3;
    record.decode_kv_max = 300;
    record.decode_kv_tokens = 600;
    record.blocks_taken = taken;
    record.block_size = 16;
    record.given_back = {1, 2, 20};
    record.lay_out(buffers);
    record.first.by_class_us = record.fixed_class_us;
    record.first.coverage_us = record.fixed_coverage_us;
  }
  std::vector<std::int32_t> gaps = {0,           301'000'000, 302'000'000, 303'000'000,
                                    304'000'000, 305'000'000, 306'000'000};
  std::vector<std::int32_t> taken = {0, 1, 1, 3, 3};
  std::shared_ptr<const DecodeRunPrices> prices =
      std::make_shared<RunPrices>(std::make_shared<FixedCost>(3e5, 1.0, 100.0));
  DecodeRunBuffers buffers;
  DecodeRunRecord record;
};

TEST_CASE("a run of decode steps comes to what its steps come to", "[unit]") {
  const SevenSteps run;
  Utilisation together, stepped;
  together.on_decode_run(run.record);
  stepped.Observer::on_decode_run(run.record);
  const UtilisationSummary a = together.result(SimTime::from_seconds(3));
  const UtilisationSummary b = stepped.result(SimTime::from_seconds(3));
  CHECK(b.steps == 7);
  CHECK(a.steps == b.steps);
  CHECK(a.busy_s == Approx(b.busy_s));
  CHECK(a.mean_batch == Approx(b.mean_batch));
  CHECK(a.mean_running == Approx(b.mean_running));
  CHECK(a.mean_waiting == Approx(b.mean_waiting));
  CHECK(a.decode_tokens == b.decode_tokens);
  CHECK(b.kv_peak_blocks == 42);  // 40 - 2 and four taken by the seventh
  CHECK(a.kv_peak_blocks == b.kv_peak_blocks);
  CHECK(a.kv_mean_share == Approx(b.kv_mean_share).epsilon(1e-12));
  CHECK(a.kv_internal_waste == Approx(b.kv_internal_waste).epsilon(1e-12));
  CHECK(a.gpu_s == Approx(b.gpu_s));
  CHECK(a.host_s == Approx(b.host_s));
  for (std::size_t i = 0; i < a.class_share.size(); ++i) {
    CHECK(a.class_share[i] == Approx(b.class_share[i]).epsilon(1e-9));
  }
  for (std::size_t i = 0; i < a.coverage_share.size(); ++i) {
    CHECK(a.coverage_share[i] == Approx(b.coverage_share[i]).epsilon(1e-9));
  }
}

TEST_CASE("the tokens of a run fall into the seconds of their steps", "[unit]") {
  const SevenSteps run;  // ends at 10.3, 10.601, 10.903, 11.206, 11.51, 11.815, 12.121
  for (const double first_arrival : {10.0, 10.2, 9.999, 10.121}) {
    SecondPeaks together, stepped;
    for (SecondPeaks* peaks : {&together, &stepped}) {
      peaks->on_arrival(0, SimTime::from_seconds(first_arrival));
    }
    together.on_decode_run(run.record);
    stepped.Observer::on_decode_run(run.record);
    CHECK(stepped.max_output_tokens() >= 9);
    CHECK(together.max_output_tokens() == stepped.max_output_tokens());
  }
}

TEST_CASE("peaks are over one-second buckets from the first arrival", "[unit]") {
  SecondPeaks peaks;
  const auto at = [](double s) { return SimTime::from_seconds(s); };
  peaks.on_arrival(0, at(100.5));
  peaks.on_tokens(3, at(100.6));
  peaks.on_tokens(4, at(101.499999999));  // still the first second
  peaks.on_tokens(5, at(101.5));          // the second one
  peaks.on_tokens(1, at(109));
  CHECK(peaks.max_output_tokens() == 7);

  // Requests that never overlap but touch the same second count together, as vLLM's benchmark has
  // it.
  peaks.on_finish(finished(0, 100.5, 100.5, 100.6, 100.7, 1, 1));
  peaks.on_finish(finished(1, 100.8, 100.8, 100.9, 101.0, 1, 1));
  peaks.on_finish(finished(2, 103.5, 103.5, 104.0, 104.5, 1, 2));
  peaks.on_finish(rejected(3, 100.6, 100.6, "no"));
  CHECK(peaks.max_concurrent_requests() == 2);
}

}  // namespace
}  // namespace headway
