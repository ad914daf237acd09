#include "sim/replica/decode_run.h"

#include <array>
#include <memory>
#include <vector>

#include "tests/support/catch.h"

namespace headway {
namespace {

// Steps of `us`, one after another, whatever they compute: their place follows from the KV sum.
class ListedCost final : public CostModel {
 public:
  explicit ListedCost(std::vector<double> us) : us_(std::move(us)) {}
  StepCost price(const StepShape& shape) const override {
    StepCost cost;
    cost.gpu_us = us_[static_cast<std::size_t>(shape.decode_kv_tokens / shape.decode_sequences)];
    cost.by_class_us[static_cast<std::size_t>(OpClass::kDecodeAttention)] = cost.gpu_us;
    cost.coverage_us[0] = cost.gpu_us;
    return cost;
  }
  std::string describe() const override { return "listed"; }

 private:
  std::vector<double> us_;
};

SimTime nanoseconds(std::int64_t t) { return SimTime::from_ns(t); }

// Two sequences; two steps in flight end at 1000 and 1500 ns, and `steps` more may be settled.
struct LaidOut {
  explicit LaidOut(std::vector<double> us) : model(std::make_shared<ListedCost>(std::move(us))) {
    run.first.tokens = run.first.decode_sequences = run.first.sampled_sequences = 2;
  }
  bool lay_out(std::int64_t steps, bool goes_on = false) {
    run.steps = steps;
    run.goes_on = goes_on;
    return run.lay_out(*model, nanoseconds(100), std::array{nanoseconds(1000), nanoseconds(1500)}, cost);
  }
  std::shared_ptr<const CostModel> model;
  DecodeRun run;
  DecodeRunCost cost;
};

TEST_CASE("decode run: ends follow the prices, to the nearest nanosecond", "[unit]") {
  // The first two are in flight. Ties go away from zero: 1.5 ns -> 2, 2.5 ns -> 3.
  LaidOut b({9, 9, 0.0015, 0.0025, 0.0024});
  REQUIRE(b.lay_out(3));
  CHECK(b.run.gaps_ns == std::vector<std::int32_t>{0, 500, 102, 103, 102});
  CHECK(b.run.due == nanoseconds(1000 + 500 + 102 + 103));  // the step after the three
  REQUIRE(b.lay_out(3, true));
  CHECK(b.run.due == nanoseconds(1000 + 500 + 102));        // the third: the run is to go on from there
}

TEST_CASE("decode run: what has ended before an instant", "[unit]") {
  LaidOut b({9, 9, 0.1, 0.3, 0.2});
  REQUIRE(b.lay_out(3));  // ends: 1000, 1500, 1700, 2100, 2400
  CHECK(b.run.part(4, nanoseconds(1000)).steps == 0);
  const RunPart part = b.run.part(4, nanoseconds(2101));
  CHECK(part.steps == 4);
  CHECK(part.first_end == nanoseconds(1000));
  CHECK(part.last_end == nanoseconds(2100));
  CHECK(part.longest_gap == nanoseconds(500));
  CHECK(part.ends_sum == 1000 + 1500 + 1700 + 2100);
  CHECK(part.ends_by_step == 1500 + 2 * 1700 + 3 * 2100);
  CHECK(b.run.part(4, nanoseconds(2100)).steps == 3);
  CHECK(b.run.part(2, SimTime::never()).last_end == nanoseconds(1500));
  CHECK(b.run.part(1, SimTime::never()).longest_gap == SimTime());
  CHECK(b.run.part(0, SimTime::never()).steps == 0);
}

TEST_CASE("decode run: steps of a second and more are not laid out", "[unit]") {
  CHECK(LaidOut({9, 9, 0.1, 999'999.0}).lay_out(2));
  CHECK_FALSE(LaidOut({9, 9, 0.1, 1'000'000.0}).lay_out(2));
  CHECK_FALSE(LaidOut({9, 9, 0.1, 1e15}).lay_out(2));
  LaidOut in_flight({9, 9, 0.1, 0.1});
  in_flight.run.steps = 2;
  CHECK_FALSE(in_flight.run.lay_out(*in_flight.model, nanoseconds(0), std::array{nanoseconds(0), nanoseconds(1'000'000'000)},
                                    in_flight.cost));
  CHECK_FALSE(in_flight.run.lay_out(*in_flight.model, nanoseconds(1'000'000'000), std::array{nanoseconds(0), nanoseconds(5)},
                                    in_flight.cost));
}

TEST_CASE("decode run: an observer finds the steps laid out as the replica timed them", "[unit]") {
  LaidOut b({0.4, 0.4, 0.1, 0.3, 0.2});
  REQUIRE(b.lay_out(3));
  const auto prices = std::make_shared<const RunPrices>(b.model);
  DecodeRunRecord record;
  record.sampled_sequences = record.first.batch = 2;
  record.first.start = nanoseconds(500);
  record.first.duration = nanoseconds(500);
  record.gaps_ns = {b.run.gaps_ns.data(), 4};
  record.prices = prices.get();
  DecodeRunBuffers buffers;
  record.lay_out(buffers);
  CHECK(std::vector<SimTime>(record.ends.begin(), record.ends.end()) ==
        std::vector<SimTime>{nanoseconds(1000), nanoseconds(1500), nanoseconds(1700), nanoseconds(2100)});
  CHECK(std::vector<double>(record.gpu_us.begin(), record.gpu_us.end()) ==
        std::vector<double>{0.4, 0.4, 0.1, 0.3});
  CHECK(record.from.size() == 4);
  CHECK(record.changing_class == static_cast<std::size_t>(OpClass::kDecodeAttention));
}

}  // namespace
}  // namespace headway
