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
SimTime time_of(const LifePiece& piece, LatencyPart p) {
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
  CHECK(time_of(last.pieces[1], LatencyPart::kPrefill) == us(1160));
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
  CHECK(std::abs((time_of(prompt, LatencyPart::kPrefill) - us(1480.0 / 3)).ns()) <= 1);
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
  CHECK(time_of(again, LatencyPart::kPreemption) == us(9000));
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

TEST_CASE("a life in two replicas: the prompt here, the answer there", "[unit]") {
  const auto ms = [](double t) { return SimTime::from_ms(t); };
  LifeObserver observer;
  SequenceFacts part{.request = 7, .tokens = 10, .prefill = true, .starts = true};
  observer.on_arrival(7, ms(0));
  observer.on_queued(7, 0, ms(1), {}, {});
  const auto plan = [&](std::uint32_t replica, double at, const TimeLedger& ledger) {
    PlanFacts facts{.replica = replica, .now = ms(at), .ledger = ledger};
    facts.sequences = {&part, 1};
    observer.on_plan(facts);
  };
  const auto step = [&](std::uint32_t replica, double at, double span, const TimeLedger& ledger) {
    StepRecord record;
    record.replica = replica;
    record.start = ms(at);
    record.duration = ms(span);
    const EmissionFacts token{.request = 7, .tokens = 1, .running = true};
    observer.on_step_facts({record, ledger, {&part, 1}, {&token, 1}});
  };
  plan(0, 1, {});
  part.kept = part.has_output = true;
  part.own = ms(2);
  step(0, 1, 2, {.interference = ms(2)});
  observer.on_left(7, ms(3));
  step(0, 3, 1, {.interference = ms(3)});  // is none of its business
  observer.on_received(7, 1, ms(8));
  part = {.request = 7, .tokens = 1, .starts = true};
  plan(1, 9, {.decode = ms(100)});
  step(1, 9, 1, {.decode = ms(101)});
  RequestRecord record;
  record.id = 7;
  record.finish = ms(10);
  record.split[static_cast<std::size_t>(LatencyPart::kHost)] = ms(1);
  record.split[static_cast<std::size_t>(LatencyPart::kPrefill)] = ms(2);
  record.split[static_cast<std::size_t>(LatencyPart::kTransfer)] = ms(5);
  record.split[static_cast<std::size_t>(LatencyPart::kQueue)] = ms(1);
  record.split[static_cast<std::size_t>(LatencyPart::kDecode)] = ms(1);
  observer.on_finish(record);
  REQUIRE(observer.lives().size() == 1);
  std::vector<LifePhase> phases;
  for (const LifePiece& piece : observer.lives()[0].pieces) phases.push_back(piece.phase);
  CHECK(phases == std::vector<LifePhase>{LifePhase::kFrontEnd, LifePhase::kPrefill,
                                         LifePhase::kMoving, LifePhase::kInLine,
                                         LifePhase::kDecode});
  const LifePiece& moving = observer.lives()[0].pieces[2];
  CHECK(time_of(moving, LatencyPart::kTransfer) == ms(5));
}

}  // namespace
