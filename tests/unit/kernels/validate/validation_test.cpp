// A validation from end to end on a device whose operators take known times by a clock of its own:
// its profile is exact, so the prediction must be too; and what is made wrong must show.
#include "kernels/validate/validation.h"

#include <nlohmann/json.hpp>

#include "kernels/validate/report.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/engine/toy_scenario.h"
#include "tests/unit/kernels/profiler/fake_backend.h"

namespace headway::kernels {
namespace {

// Floor, compute and memory of each operator: what the simulator's fitted model is made for.
double time_us(const std::string& op, const std::vector<std::int64_t>& key) {
  const auto at = [&](std::size_t i) { return static_cast<double>(key[i]); };
  if (op == "gemm") return 2 + at(0) * at(1) * (4e-4 + 2e-4 * at(2));
  if (op == "attn_decode") return 3 + 0.02 * at(2) * at(3);
  if (op == "attn_prefill") return 3 + 1e-3 * at(2) * at(3) * at(3);
  if (op == "sampling" || op == "embedding") return 1;
  return 1 + 0.01 * at(key.size() - 1);
}

// Takes the made-up times and always says the same.
class TimedEngine final : public EngineBackend {
 public:
  TimedEngine(const LlamaShape& shape, FakeClock& clock, double factor)
      : clock_(clock), factor_(factor), s_(shape) {}

  const LlamaShape& shape() const override { return s_; }
  std::string describe() const override { return "timed"; }
  void begin(const StepInput& step) override {
    step_ = &step;
    tokens_.assign(step.sampled_rows.size(), 7);
  }
  void embed() override { take("embedding", {s_.hidden, rows()}); }
  void norm(std::int32_t, bool, bool) override { take("rmsnorm", {s_.hidden, rows()}); }
  void final_norm() override { take("rmsnorm", {s_.hidden, rows()}); }
  void linear(std::int32_t, Product p) override {
    const ProductSize z = product_size(s_, p);
    take("gemm", {z.n, z.k, rows()});
  }
  void rope() override { take("rope", {s_.heads, s_.kv_heads, rows()}); }
  void kv_write(std::int32_t) override { take("kv_write", {s_.kv_heads, rows()}); }
  void attention(std::int32_t) override {
    std::int64_t decodes = 0, tokens = 0;
    double prefill_us = 0;
    for (const SequenceRows& q : step_->sequences) {
      const std::int64_t whole = q.context + q.count;
      if (q.count == 1 && q.context > 0) {
        ++decodes;
        tokens += whole;
      } else {  // as the simulator composes chunks: the whole less what was there before, one floor
        prefill_us += time_us("attn_prefill", {4, 2, 1, whole}) -
                      time_us("attn_prefill", {4, 2, 1, q.context});
      }
    }
    if (prefill_us > 0) pass(3 + prefill_us);
    if (decodes > 0) pass(3 + 0.02 * static_cast<double>(tokens));
  }
  void silu_mul() override { take("silu_mul", {s_.ffn, rows()}); }
  void lm_head() override { take("gemm", {s_.vocab, s_.hidden, std::ssize(step_->sampled_rows)}); }
  void sample() override { take("sampling", {s_.vocab, 1}); }
  std::span<const std::int32_t> finish() override { return tokens_; }
  std::vector<float> logits() override { return {}; }

 private:
  std::int64_t rows() const { return step_->rows(); }
  void pass(double us) { clock_.pass(SimTime::from_us(factor_ * us)); }
  void take(const char* op, const std::vector<std::int64_t>& key) { pass(time_us(op, key)); }

  FakeClock& clock_;
  double factor_;
  LlamaShape s_;
  const StepInput* step_ = nullptr;
  std::vector<std::int32_t> tokens_;
};

// An operator with a name and no code: the profiler's fake asks for nothing else.
KernelEntry entry(const char* op, Variant variant) {
  KernelEntry e;
  e.name = e.op = op;
  e.impl = "own";
  e.variant = std::move(variant);
  e.work = [](const Case&) { return Work{1, 1, 1, 1}; };
  return e;
}

class FakeDevice final : public ValidationDevice {
 public:
  FakeDevice(const LlamaShape& shape, FakeClock& clock, double factor)
      : shape_(shape), clock_(clock), factor_(factor) {
    const std::string dim = std::to_string(shape.head_dim);
    kernels_ = {entry("gemm", {{"weights", "bf16"}, {"activations", "bf16"}}),
                entry("attn_prefill", {{"kv", "bf16"}, {"head_dim", dim}, {"window", "0"}}),
                entry("attn_decode", {{"kv", "bf16"}, {"head_dim", dim}, {"window", "0"}}),
                entry("rmsnorm", {{"dtype", "bf16"}, {"residual", "yes"}}),
                entry("rope", {{"dtype", "bf16"}, {"head_dim", dim}}),
                entry("kv_write", {{"kv", "bf16"}, {"head_dim", dim}, {"page", "16"}}),
                entry("silu_mul", {{"dtype", "bf16"}}),
                entry("embedding", {{"dtype", "bf16"}}),
                entry("sampling", {{"dtype", "bf16"}, {"method", "greedy"}})};
    profiler_.true_us = [](const KernelEntry& e, const Case& c) { return time_us(e.op, c.key); };
    profiler_.prepare_s = profiler_.sample_s = 1e-4;
  }
  std::string describe() const override { return "a fake"; }
  std::unique_ptr<EngineBackend> make_engine(const BackendOptions&) override {
    return std::make_unique<TimedEngine>(shape_, clock_, factor_);
  }
  const std::vector<KernelEntry>& kernels() const override { return kernels_; }
  Backend& profiler() override { return profiler_; }
  TokenCheck check_tokens(const std::vector<Conversation>& conversations, EngineBackend&,
                          std::int32_t) override {
    TokenCheck check;
    check.answers = check.all_answers = std::ssize(conversations);
    for (const Conversation& c : conversations) check.tokens += std::ssize(c.answer);
    check.different = wrong_tokens;
    return check;
  }
  std::int64_t wrong_tokens = 0;

 private:
  LlamaShape shape_;
  FakeClock& clock_;
  double factor_;
  std::vector<KernelEntry> kernels_;
  test::FakeBackend profiler_;
};

Scenario scenario() {
  Scenario s = tiny_scenario(
      R"("max_num_batched_tokens": 64, "max_num_seqs": 8, "num_gpu_blocks_override": 200,
         "max_model_len": 256)",
      R"("num_prompts": 8, "request_rate": 5,
         "input_len": {"distribution": "uniform", "low": 5, "high": 100},
         "output_len": {"distribution": "uniform", "low": 4, "high": 40})");
  std::vector<std::string> notes;
  return as_engine_runs(s, notes);
}

// `factor`: how much slower the engine's operators are than the profile thinks.
Validation run(double factor, std::int64_t wrong_tokens = 0) {
  FakeClock clock;
  const Scenario s = scenario();
  FakeDevice device(llama_shape(s.model, s.engine.max_model_len), clock, factor);
  device.wrong_tokens = wrong_tokens;
  ValidateOptions options;
  options.rounds = 2;
  options.seconds = 2;
  options.fewest = 30;
  options.clock = &clock;
  return validate(s, device, options);
}

TEST_CASE("validation of a device that keeps its word finds no error", "[unit][kernels]") {
  const Validation v = run(1);
  REQUIRE(v.regimes.size() == 4);
  CHECK(v.capacity > 10);
  for (const RegimeResult& r : v.regimes) {
    INFO(r.regime.name);
    CHECK(r.runs == 2);
    CHECK(r.disturbed == 0);
    CHECK(r.rate == Approx(r.regime.load * v.capacity));
    CHECK(r.requests >= 30);
    for (const Comparison& c : r.figures) {
      CHECK(c.noise == 0);  // the clock has none
      // Reading between the profile's points costs some; queues multiply it.
      CHECK(std::abs(c.error) < (r.regime.below_knee ? 0.03 : 0.12));
    }
  }
  CHECK(v.decode_steps.ratio() == Approx(1).margin(0.03));
  CHECK(v.prefill_steps.ratio() == Approx(1).margin(0.03));
  CHECK(v.accurate());
  CHECK(verdict_of(v) == "within");
}

TEST_CASE("validation shows a device that is slower than its profile", "[unit][kernels]") {
  const Validation v = run(1.5);
  CHECK(v.decode_steps.ratio() == Approx(1.5).margin(0.06));
  const Comparison& tpot = v.regimes[1].figures[static_cast<std::size_t>(Figure::kTpot)];
  CHECK(tpot.error < -0.25);
  CHECK_FALSE(v.accurate());
  CHECK(verdict_of(v) == "not within");
}

TEST_CASE("wrong tokens and disturbed runs decide the verdict", "[unit][kernels]") {
  Validation v = run(1, 3);
  CHECK_FALSE(v.accurate());
  CHECK(verdict_of(v) == "wrong tokens");
  v.tokens.different = 0;
  v.regimes[0].busy = 0.8;
  CHECK(v.unjudged() == std::vector<std::string>{"idle"});
  CHECK(verdict_of(v).starts_with("not judged"));
  CHECK(report_text(v).find("not judged") != std::string::npos);
}

TEST_CASE("the report says the same as text and as JSON", "[unit][kernels]") {
  const Validation v = run(1);
  const std::string text = report_text(v);
  for (const char* part : {"Capacity", "Host terms measured", "idle", "half", "knee", "overload",
                           "TPOT mean ms", "E2EL mean ms", "output tok/s", "0 differ", "Verdict"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  const nlohmann::json json = nlohmann::json::parse(report_json(v));
  CHECK(json["schema"] == "headway-validation/1");
  CHECK(json["capacity_req_per_s"] == v.capacity);
  REQUIRE(json["regimes"].size() == 4);
  const Comparison& e2el = v.regimes[2].figures[static_cast<std::size_t>(Figure::kE2el)];
  const auto& said = json["regimes"][2]["figures"]["e2el_ms"];
  CHECK(said["measured"] == e2el.measured);
  CHECK(said["predicted"] == e2el.predicted);
  CHECK(said["error"] == e2el.error);
  CHECK(said["within"] == e2el.within());
  CHECK(json["verdict"] == "within");
}

TEST_CASE("a scenario is told what the engine makes of it", "[unit][kernels]") {
  Scenario s =
      tiny_scenario("", R"("num_prompts": 2, "request_rate": 1, "input_len": 4, "output_len": 2)");
  s.engine.async_scheduling = true;
  s.engine.enforce_eager = false;
  s.engine.max_num_seqs = 1000;
  std::vector<std::string> notes;
  const Scenario ran = as_engine_runs(s, notes);
  CHECK_FALSE(ran.engine.async_scheduling);
  CHECK(ran.engine.enforce_eager);
  CHECK(ran.engine.num_gpu_blocks_override == 64 * 512 / 16 + 1);
  CHECK(notes.size() == 3);
  s.cluster.replicas = 2;
  CHECK_THROWS_AS(as_engine_runs(s, notes), InputError);
}

}  // namespace
}  // namespace headway::kernels
