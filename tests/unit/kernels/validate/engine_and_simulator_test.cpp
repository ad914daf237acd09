// The engine's loop and the simulator's replica are the same thing in two kinds of time. Where
// steps cost the same, they must tell the same times, to the nanosecond.
#include <map>

#include "kernels/engine/engine.h"
#include "kernels/validate/comparison.h"
#include "sim/cluster/simulation.h"
#include "sim/core/errors.h"
#include "sim/metrics/run_metrics.h"
#include "sim/workload/request_source.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/engine/toy_scenario.h"

namespace headway::kernels {
namespace {

// The same for a sequence whether it is called a chunk or a decode: the backend cannot tell a chunk
// of one token from a decode.
double price_us(const StepShape& shape) {
  double tokens = static_cast<double>(shape.decode_kv_tokens);
  for (const PrefillChunk& c : shape.prefill) tokens += c.new_tokens + c.context_tokens;
  return 800 + 11.0 * shape.tokens + 0.25 * tokens;
}

class ShapeCost final : public CostModel {
 public:
  StepCost price(const StepShape& shape) const override {
    StepCost cost;
    cost.gpu_us = cost.by_class_us[0] = cost.coverage_us[0] = price_us(shape);
    return cost;
  }
  std::string describe() const override { return "by shape"; }
};

// Takes a step's price on a clock of its own; says nothing sensible.
class PricedBackend final : public EngineBackend {
 public:
  PricedBackend(const LlamaShape& shape, FakeClock& clock) : shape_(shape), clock_(clock) {}
  const LlamaShape& shape() const override { return shape_; }
  std::string describe() const override { return "priced"; }
  void begin(const StepInput& step) override {
    StepShape shape;
    shape.tokens = step.rows();
    for (const SequenceRows& rows : step.sequences) {
      shape.prefill.push_back({rows.count, rows.context});
    }
    clock_.pass(SimTime::from_us(price_us(shape)));
    tokens_.assign(step.sampled_rows.size(), 1);
  }
  void embed() override {}
  void norm(std::int32_t, bool, bool) override {}
  void final_norm() override {}
  void linear(std::int32_t, Product) override {}
  void rope() override {}
  void kv_write(std::int32_t) override {}
  void attention(std::int32_t) override {}
  void silu_mul() override {}
  void lm_head() override {}
  void sample() override {}
  std::span<const std::int32_t> finish() override { return tokens_; }
  std::vector<float> logits() override { return {}; }

 private:
  LlamaShape shape_;
  FakeClock& clock_;
  std::vector<std::int32_t> tokens_;
};

class Times final : public Observer {
 public:
  void on_finish(const RequestRecord& r) override {
    times[r.id] = {r.scheduled.ns(), r.first_token.ns(), r.finish.ns(), r.preemptions};
  }
  std::map<std::uint64_t, std::array<std::int64_t, 4>> times;
};

void require_same(const Scenario& s) {
  Blueprint blueprint = make_blueprint(s);
  blueprint.cost = std::make_shared<ShapeCost>();
  Times simulated, ran;
  RunMetrics simulated_metrics, ran_metrics;
  Observer* const one[] = {&simulated, &simulated_metrics};
  simulate(s, blueprint, one);

  FakeClock clock;
  PricedBackend backend(llama_shape(s.model, s.engine.max_model_len), clock);
  std::vector<std::string> notes;
  Client client(open_workload(s.workload, "", s.seed, notes), s.workload.max_concurrency);
  Observer* const two[] = {&ran, &ran_metrics};
  Engine({blueprint.scheduler, s.engine.max_model_len, 0}, backend, clock).run(client, two);

  CHECK(simulated.times == ran.times);
  const Figures predicted = figures_of(simulated_metrics.result());
  const Figures measured = figures_of(ran_metrics.result());
  for (std::size_t f = 0; f < kFigures; ++f) {
    INFO(figure_rows()[f].name);
    CHECK(measured[f] > 0);
    CHECK(compare({measured[f]}, predicted[f]).error == Approx(0).margin(1e-12));
  }
}

TEST_CASE("engine and simulator agree on every time where steps cost the same", "[unit][kernels]") {
  const char* const lengths = R"("input_len": {"distribution": "uniform", "low": 2, "high": 120},
    "output_len": {"distribution": "uniform", "low": 1, "high": 60})";
  for (const char* rate : {"3", "40", "400", "\"inf\""}) {
    INFO(rate);
    require_same(tiny_scenario(
        R"("max_num_batched_tokens": 64, "max_num_seqs": 8, "num_gpu_blocks_override": 200)",
        std::string(R"("num_prompts": 80, "request_rate": )") + rate + ", " + lengths));
  }
  INFO("preemptions");
  require_same(tiny_scenario(
      R"("max_num_batched_tokens": 64, "max_num_seqs": 8, "num_gpu_blocks_override": 24,
         "max_model_len": 200, "enable_prefix_caching": false)",
      std::string(R"("num_prompts": 60, "request_rate": 200, )") + lengths));
  INFO("conversations");
  require_same(tiny_scenario(
      R"("max_num_batched_tokens": 64, "max_num_seqs": 8, "num_gpu_blocks_override": 300)",
      R"("num_prompts": 60, "request_rate": 30, "input_len": 20, "output_len": 15,
         "sessions": {"turns": 3, "new_input_len": 17, "think_time_s": 0.02,
                      "shared_prefix_tokens": 32})"));
  INFO("closed loop");
  require_same(tiny_scenario(
      R"("max_num_batched_tokens": 64, "max_num_seqs": 8, "num_gpu_blocks_override": 200)",
      std::string(R"("num_prompts": 60, "request_rate": "inf", "max_concurrency": 5, )") +
          lengths));
}

}  // namespace
}  // namespace headway::kernels
