#include "sim/metrics/request_life.h"

#include <array>
#include <map>

#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

// All at once, prompts of 16 tokens: a step takes 1 ms and 10 us a prompt token.
std::map<std::uint64_t, RequestLife> lives_of(BenchEngine& bench, std::int32_t requests) {
  bench.cost(1000.0, 10.0, 0.0);
  bench.workload().num_prompts = requests;
  bench.workload().request_rate = INFINITY;
  LifeObserver observer;
  const std::array<Observer*, 1> observers = {&observer};
  bench.run(observers, {.step_by_step = true});
  std::map<std::uint64_t, RequestLife> out;
  for (const RequestLife& life : observer.lives()) out[life.record.id] = life;
  REQUIRE(static_cast<std::int32_t>(out.size()) == requests);
  return out;
}

SimTime us(double value) { return SimTime::from_us(value); }
SimTime part(const LifePiece& piece, LatencyPart p) {
  return piece.split[static_cast<std::size_t>(p)];
}
SimTime held(const LifePiece& piece, HeldBack cause) {
  return piece.by_cause[static_cast<std::size_t>(cause)];
}

TEST_CASE("a life: waits for a seat, first behind another request, then first in line", "[unit]") {
  BenchEngine bench;
  bench.engine().max_num_seqs = 1;
  bench.workload().output_len.value = 2;
  const auto lives = lives_of(bench, 3);
  // Each runs alone: 1.16 ms of prefill, 1 ms of decode.
  const RequestLife& last = lives.at(2);
  REQUIRE(last.pieces.size() == 3);
  const LifePiece& line = last.pieces[0];
  CHECK(line.phase == LifePhase::kInLine);
  CHECK(line.to - line.from == us(4320));
  CHECK(held(line, HeldBack::kSeats) == us(4320));
  CHECK_FALSE(line.derived);
  REQUIRE(line.others.size() == 1);
  CHECK(line.others[0] == std::pair<std::uint64_t, SimTime>{1, us(2160)});
  CHECK(line.first == us(2160));
  CHECK(last.pieces[1].phase == LifePhase::kPrefill);
  CHECK(last.pieces[1].tokens == 16);
  CHECK(part(last.pieces[1], LatencyPart::kPrefill) == us(1160));
  CHECK(last.pieces[2].phase == LifePhase::kDecode);
  CHECK(last.pieces[2].tokens == 1);
  CHECK(last.pieces[2].to == last.record.finish);
}

TEST_CASE("a life: whose prompts held it up", "[unit]") {
  BenchEngine bench;
  bench.workload().output_len.value = 2;
  const auto lives = lives_of(bench, 3);
  // Three prompts in one step of 1.48 ms: a third is one's own, the others have a third each.
  const LifePiece& prompt = lives.at(0).pieces.at(0);
  CHECK(prompt.phase == LifePhase::kPrefill);
  CHECK(prompt.to - prompt.from == us(1480));
  REQUIRE(prompt.others.size() == 2);
  CHECK(prompt.others[0].first == 1);
  CHECK(std::abs((prompt.others[0].second - us(1480.0 / 3)).ns()) <= 1);
  CHECK(std::abs((part(prompt, LatencyPart::kPrefill) - us(1480.0 / 3)).ns()) <= 1);
}

TEST_CASE("a life: preempted for whom, and what that cost", "[unit]") {
  BenchEngine bench("fcfs-nochunk");
  bench.blueprint.scheduler.num_blocks = 2;  // one a prompt; the first decode needs a second
  bench.workload().output_len.value = 10;
  const auto lives = lives_of(bench, 2);
  const RequestLife& victim = lives.at(1);
  CHECK(lives.at(0).preemptions.empty());
  REQUIRE(victim.preemptions.size() == 1);
  CHECK(victim.preemptions[0].for_request == 0);
  CHECK(victim.preemptions[0].prefilled_tokens == 16);
  // One step beside the other; then in line while that one decodes nine steps.
  REQUIRE(victim.pieces.size() >= 3);
  const LifePiece& again = victim.pieces[1];
  CHECK(again.phase == LifePhase::kInLine);
  CHECK(again.lost);
  CHECK(again.to - again.from == us(9000));
  CHECK(held(again, HeldBack::kKvBlocks) == us(9000));
  CHECK(part(again, LatencyPart::kPreemption) == us(9000));
  CHECK(victim.pieces[2].phase == LifePhase::kPrefill);
  CHECK(victim.pieces[2].lost);
}

TEST_CASE("a life: the nearest request is known where the one asked for is not", "[unit]") {
  BenchEngine bench;
  bench.workload().num_prompts = 4;
  for (const auto& [asked, nearest] : {std::pair<int, int>{9, 3}, {2, 2}}) {
    LifeObserver observer(asked);
    const std::array<Observer*, 1> observers = {&observer};
    bench.run(observers, {.step_by_step = true});
    CHECK(observer.nearest() == static_cast<std::uint64_t>(nearest));
    CHECK(observer.lives().size() == (asked == nearest ? 1 : 0));
  }
}

}  // namespace
