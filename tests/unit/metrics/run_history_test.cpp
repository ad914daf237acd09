#include "sim/metrics/run_history.h"

#include <numeric>

#include "sim/metrics/decode_run.h"
#include "tests/support/catch.h"
#include "tests/support/records.h"

namespace headway {
namespace {

constexpr std::int64_t kMs = 1'000'000;

StepRecord step_of(std::int64_t start_ms, std::int64_t duration_ms, std::int64_t running,
                   std::int64_t waiting, std::int64_t kv_blocks) {
  StepRecord s;
  s.start = SimTime::from_ns(start_ms * kMs);
  s.duration = SimTime::from_ns(duration_ms * kMs);
  s.running = running;
  s.waiting = waiting;
  s.kv_blocks = kv_blocks;
  s.kv_blocks_total = 100;
  return s;
}

HistoryColumn sum_of(const RunHistory& history) {
  HistoryColumn sum;
  for (const HistoryColumn& column : history.columns(history.width_ns())) sum.add(column);
  return sum;
}

TEST_CASE("history: a step's state counts for its time, over the columns that it lies in", "[unit]") {
  RunHistory history;
  history.on_step(step_of(10, 90, 2, 3, 50));
  history.on_tokens(2, SimTime::from_ns(100 * kMs));
  // 1536 columns of 0.1 ms are enough for 100 ms: the first width stands.
  REQUIRE(history.width_ns() == RunHistory::kFirstWidthNs);
  const std::vector<HistoryColumn> columns = history.columns(history.width_ns());
  REQUIRE(columns.size() == 1001);
  CHECK(columns[99].busy_ns == 0);
  CHECK(columns[100].running_ns == 2 * 100'000.0);
  CHECK(columns[999].waiting_ns == 3 * 100'000.0);
  CHECK(columns[500].kv_share_ns == Approx(0.5 * 100'000));
  CHECK(columns[1000].output_tokens == 2);
  const HistoryColumn sum = sum_of(history);
  CHECK(sum.busy_ns == Approx(90.0 * kMs));
  CHECK(sum.kv_peak == Approx(0.5));
}

TEST_CASE("history: columns double in width as the run grows, and lose nothing", "[unit]") {
  RunHistory history;
  constexpr int kRequests = 1000;
  for (int i = 0; i < kRequests; ++i) {
    history.on_arrival(static_cast<std::uint64_t>(i), SimTime::from_seconds(60.0 * i));
    history.on_step(step_of(60'000LL * i, 30'000, 1, 0, 10));
    history.on_finish(finished(0, 60.0 * i, 60.0 * i, 60.0 * i + 1, 60.0 * i + 30, 5, 5));
  }
  history.on_end(SimTime::from_seconds(60.0 * kRequests));
  CHECK(history.width_ns() == RunHistory::kFirstWidthNs << 19);  // 60 000 s / 1536 = 39.06 s at least
  const auto fine = history.columns(history.width_ns());
  CHECK(fine.size() == 1145);  // 60 000 / 52.43, and what remains
  const HistoryColumn sum = sum_of(history);
  CHECK(sum.arrivals == kRequests);
  CHECK(sum.finishes == kRequests);
  CHECK(sum.busy_ns == Approx(30e9 * kRequests));
  CHECK(sum.in_system_ns == Approx(30e9 * kRequests));
  CHECK(sum.in_system_min == 0);
  CHECK(sum.in_system_max == 1);
  HistoryColumn coarse;
  const auto wide = history.columns(4 * history.width_ns());
  CHECK(wide.size() == 287);
  for (const HistoryColumn& column : wide) coarse.add(column);
  CHECK(coarse.busy_ns == Approx(sum.busy_ns));
  CHECK(coarse.arrivals == kRequests);
}

TEST_CASE("history: a spike of one instant is the most of its column", "[unit]") {
  RunHistory history;
  for (std::uint64_t i = 0; i < 7; ++i) history.on_arrival(i, SimTime());
  for (std::uint64_t i = 0; i < 7; ++i) history.on_finish(rejected(i, 0, 0, "too long"));
  history.on_end(SimTime::from_seconds(3600));
  const auto columns = history.columns(history.width_ns());
  CHECK(columns.front().in_system_max == 7);
  CHECK(columns.front().in_system_min == 0);
  CHECK(columns.back().in_system_max == 0);
  CHECK(sum_of(history).in_system_ns == 0);
}

TEST_CASE("history: steps of one replica that overlap count each instant once", "[unit]") {
  RunHistory history;
  history.on_step(step_of(0, 10, 4, 0, 10));
  history.on_step(step_of(5, 10, 4, 0, 10));   // 5 ms of it are new
  history.on_step(step_of(6, 4, 4, 0, 10));    // none
  StepRecord other = step_of(0, 10, 4, 0, 10);
  other.replica = 1;
  history.on_step(other);
  CHECK(history.replicas() == 2);
  CHECK(sum_of(history).busy_ns == Approx(25.0 * kMs));
  CHECK(sum_of(history).running_ns == Approx(100.0 * kMs));
}

TEST_CASE("history: a run of decode steps is told like its steps", "[unit]") {
  // Five steps of 4 sequences, 10 ms each, of which two take a block each time; one sequence left
  // with its block before the second.
  std::vector<SimTime> ends;
  for (int i = 1; i <= 5; ++i) ends.push_back(SimTime::from_ns(i * 10 * kMs));
  const std::vector<std::int32_t> gaps = {0, 10 * 1000000, 10 * 1000000, 10 * 1000000, 10 * 1000000};
  const std::vector<double> gpu_us(5, 9000.0);
  const std::vector<std::uint8_t> from(5, 0);
  const std::vector<std::int32_t> taken = {0, 2};
  DecodeRunRecord run;
  run.first = step_of(0, 10, 5, 1, 40);
  run.gaps_ns = gaps;
  run.first.batch = run.first.decode_tokens = 4;
  run.ends = ends;
  run.gpu_us = gpu_us;
  run.from = from;
  run.blocks_taken = taken;
  run.block_size = 16;
  run.given_back = {1, 1, 16};
  RunHistory told, stepped;
  told.on_decode_run(run);
  stepped.Observer::on_decode_run(run);
  const HistoryColumn a = sum_of(told), b = sum_of(stepped);
  CHECK(b.busy_ns == Approx(50.0 * kMs));
  CHECK(a.busy_ns == Approx(b.busy_ns));
  CHECK(a.running_ns == Approx((5 * 10 + 4 * 40) * 1.0 * kMs));
  CHECK(a.running_ns == Approx(b.running_ns));
  CHECK(a.waiting_ns == Approx(b.waiting_ns));
  CHECK(a.output_tokens == Approx(20));
  CHECK(a.output_tokens == Approx(b.output_tokens));
  // 40 blocks, then 41, 43, 45, 47; the run's KV rises evenly between the second and the last.
  CHECK(b.kv_share_ns == Approx((0.40 + 0.41 + 0.43 + 0.45 + 0.47) * 10 * kMs));
  CHECK(a.kv_share_ns == Approx(b.kv_share_ns));
  CHECK(a.kv_peak == Approx(0.47));
  CHECK(b.kv_peak == Approx(0.47));
}

TEST_CASE("history: of nothing", "[unit]") {
  RunHistory history;
  history.on_end(SimTime());
  CHECK(history.columns(history.width_ns()).size() == 1);
  CHECK(history.replicas() == 0);
}

}  // namespace
}  // namespace headway
