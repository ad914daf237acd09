#include "sim/metrics/call_log.h"

#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/catch.h"

namespace headway {
namespace {

// A run whose steps all cost the same; the coverage tells them apart.
class FlatPrices final : public DecodeRunPrices {
 public:
  void price(DecodeRunRecord& run, DecodeRunBuffers& buffers) const override {
    buffers.gpu_us.assign(static_cast<std::size_t>(run.steps()), 7.5);
    buffers.from.assign(static_cast<std::size_t>(run.steps()), 2);
    run.gpu_us = buffers.gpu_us;
    run.from = buffers.from;
    run.fixed_us = 7.5;
  }
  DecodeRunTimes times(const DecodeRunFacts&) const override { return {}; }
};

// Writes down what it hears, in words.
class Words final : public Observer {
 public:
  void on_arrival(std::uint64_t request, SimTime now) override { say("arrival", request, now.ns()); }
  void on_step(const StepRecord& s) override {
    say("step", s.replica, s.step, s.start.ns(), s.kv_largest_free_run, s.coverage_us[3]);
  }
  void on_decode_run(const DecodeRunRecord& run) override {
    say("run", run.first.replica, run.steps(), run.gpu_us.size(), run.blocks_taken_by(5));
    for (const SimTime end : run.ends) say("end", end.ns());
  }
  void on_token_gaps(SimTime gap, std::int64_t count, SimTime now) override {
    say("gaps", gap.ns(), count, now.ns());
  }
  void on_tokens(std::int64_t count, SimTime now) override { say("tokens", count, now.ns()); }
  void on_preemption(std::uint64_t request, std::uint32_t replica, SimTime now) override {
    say("preemption", request, replica, now.ns());
  }
  void on_finish(const RequestRecord& r) override {
    say("finish", r.id, r.finish.ns(), r.split[7].ns(), r.failed);
    heard.back() += " " + r.finish_reason;
  }
  void on_fleet(const FleetRecord& f) override { say("fleet", f.pool, f.failed); }

  std::vector<std::string> heard;

 private:
  template <typename... Numbers>
  void say(std::string call, Numbers... numbers) {
    ((call += " " + std::to_string(numbers)), ...);
    heard.push_back(std::move(call));
  }
};

std::vector<std::string> told(const CallLog& log) {
  Words words;
  DecodeRunBuffers buffers;
  log.tell(words, buffers);
  return words.heard;
}

TEST_CASE("call log: calls are made again, in order", "[unit]") {
  StepRecord step;
  step.replica = 3;
  step.step = 8;
  step.start = SimTime::from_ns(100);
  step.duration = SimTime::from_ns(50);
  step.kv_largest_free_run = 17;
  step.coverage_us[3] = 2.5;
  const std::vector<std::int32_t> gaps = {0, 40, 41};
  const std::vector<std::int32_t> taken = {0, 1, 1};
  const auto prices = std::make_shared<FlatPrices>();
  DecodeRunFacts run;
  run.first = step;
  run.gaps_ns = gaps;
  run.blocks_taken = taken;
  run.prices = prices.get();
  RequestRecord request;
  request.id = 5;
  request.finish = SimTime::from_ns(999);
  request.split[7] = SimTime::from_ns(12);
  request.failed = true;
  request.finish_reason = "a reason of more than sixteen letters";
  FleetRecord fleet;
  fleet.pool = 1;
  fleet.failed = 2;

  CallLog log;
  CHECK(told(log).empty());
  log.arrival(5, SimTime::from_ns(7));
  log.step(step);
  log.run(run);
  log.gaps(SimTime::from_ns(40), 12, SimTime::from_ns(190));
  log.tokens(12, SimTime::from_ns(190));
  log.preemption(5, 3, SimTime::from_ns(200));
  log.finish(request);
  request.finish_reason.clear();
  log.finish(request);
  log.fleet(fleet);
  log.close();
  CHECK(told(log) ==
        std::vector<std::string>{"arrival 5 7", "step 3 8 100 17 2.500000", "run 3 3 3 3", "end 150",
                                 "end 190", "end 231", "gaps 40 12 190", "tokens 12 190",
                                 "preemption 5 3 200",
                                 "finish 5 999 12 1 a reason of more than sixteen letters",
                                 "finish 5 999 12 1 ", "fleet 1 2"});
  log.clear();
  CHECK(told(log).empty());
}

TEST_CASE("call log: numbers of any size", "[unit]") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const SimTime late = SimTime::from_ns(kMost - 1);
  CallLog log;
  log.arrival(std::uint64_t{1} << 63, late);
  log.arrival(UINT32_MAX, late);
  log.gaps(SimTime::from_ns(std::int64_t{1} << 32), 1, late);
  log.gaps(SimTime::from_ns(-1), (1 << 28) - 1, late);
  log.gaps(SimTime::from_ns(UINT32_MAX), (1 << 28) - 2, late);
  log.tokens(kMost, late);
  log.close();
  const std::string now = " " + std::to_string(kMost - 1);
  CHECK(told(log) == std::vector<std::string>{
                         "arrival 9223372036854775808" + now, "arrival 4294967295" + now,
                         "gaps 4294967296 1" + now, "gaps -1 268435455" + now,
                         "gaps 4294967295 268435454" + now, "tokens 9223372036854775807" + now});
}

TEST_CASE("call log: full after so many bytes, and longer entries fit", "[unit]") {
  CallLog log;
  std::int64_t calls = 0;
  while (!log.full()) log.tokens(++calls, SimTime());
  CHECK(calls == CallLog::kFullBytes / 16);
  RequestRecord request;
  request.finish_reason.assign(3 << 20, 'x');
  log.finish(request);
  log.close();
  const std::vector<std::string> heard = told(log);
  REQUIRE(std::ssize(heard) == calls + 1);
  CHECK(heard[static_cast<std::size_t>(calls) - 1] == "tokens " + std::to_string(calls) + " 0");
  CHECK(heard.back().size() > (3 << 20));
}

}  // namespace
}  // namespace headway
