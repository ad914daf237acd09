// What the paged, continuously batched engine says is what one request alone is told.
#include <map>

#include "kernels/engine/reference_decoder.h"
#include "sim/core/errors.h"
#include "sim/workload/client.h"
#include "sim/workload/request_source.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/engine/toy_scenario.h"

namespace headway::kernels {
namespace {

constexpr std::uint64_t kSeed = 5;

// Each step takes as long as its tokens say, so that arrivals fall into all kinds of steps.
class TimedBackend final : public EngineBackend {
 public:
  TimedBackend(std::unique_ptr<EngineBackend> inner, FakeClock& clock)
      : inner_(std::move(inner)), clock_(clock) {}
  const LlamaShape& shape() const override { return inner_->shape(); }
  std::string describe() const override { return inner_->describe(); }
  void begin(const StepInput& step) override {
    clock_.pass(SimTime::from_us(1000 + 20 * step.rows()));
    inner_->begin(step);
  }
  void embed() override { inner_->embed(); }
  void norm(std::int32_t layer, bool second, bool add) override {
    inner_->norm(layer, second, add);
  }
  void final_norm() override { inner_->final_norm(); }
  void linear(std::int32_t layer, Product product) override { inner_->linear(layer, product); }
  void rope() override { inner_->rope(); }
  void kv_write(std::int32_t layer) override { inner_->kv_write(layer); }
  void attention(std::int32_t layer) override { inner_->attention(layer); }
  void silu_mul() override { inner_->silu_mul(); }
  void lm_head() override { inner_->lm_head(); }
  void sample() override { inner_->sample(); }
  std::span<const std::int32_t> finish() override { return inner_->finish(); }
  std::vector<float> logits() override { return inner_->logits(); }

 private:
  std::unique_ptr<EngineBackend> inner_;
  FakeClock& clock_;
};

EngineRun run_engine(const Scenario& s, std::int32_t draft_layers = 0) {
  const Blueprint blueprint = make_blueprint(s);
  check_engine({blueprint.scheduler, s.engine.max_model_len, draft_layers});
  const LlamaShape shape = llama_shape(s.model, s.engine.max_model_len);
  FakeClock clock;
  BackendOptions options;
  options.pages = blueprint.scheduler.num_blocks;
  options.page_size = s.engine.block_size;
  options.max_rows = std::max(s.engine.max_num_batched_tokens, s.engine.max_num_seqs);
  options.max_sampled = s.engine.max_num_seqs * 8;
  TimedBackend backend(make_cpu_backend(make_cpu_weights(shape, kSeed), options), clock);
  Engine engine({blueprint.scheduler, s.engine.max_model_len, draft_layers}, backend, clock);
  std::vector<std::string> notes;
  Client client(open_workload(s.workload, "", s.seed, notes), s.workload.max_concurrency);
  return engine.run(client, {});
}

void require_reference_tokens(const EngineRun& run, const Scenario& s) {
  ReferenceDecoder reference(make_cpu_weights(llama_shape(s.model, s.engine.max_model_len), kSeed));
  REQUIRE(std::ssize(run.conversations) == run.requests);
  for (const Conversation& c : run.conversations) {
    INFO("request " << c.request);
    CHECK(c.answer == reference.generate(c.prompt, static_cast<std::int32_t>(c.answer.size())));
  }
}

const char* const kBusy = R"("num_prompts": 24, "request_rate": 160,
  "input_len": {"distribution": "uniform", "low": 1, "high": 90},
  "output_len": {"distribution": "uniform", "low": 1, "high": 40})";

TEST_CASE("engine tokens equal the reference: batches and chunked prompts", "[unit][kernels]") {
  const Scenario s = tiny_scenario(
      R"("max_num_batched_tokens": 24, "max_num_seqs": 8, "num_gpu_blocks_override": 200)", kBusy);
  const EngineRun run = run_engine(s);
  require_reference_tokens(run, s);
  std::int32_t batch = 0, mixed = 0;
  for (const StepTiming& step : run.steps) {
    batch = std::max(batch, step.sequences);
    mixed += step.prefill_tokens > 0 && step.prefill_tokens < step.rows;
  }
  CHECK(batch >= 6);
  CHECK(mixed > 5);  // prompts and decodes in one step: what the test is about
}

TEST_CASE("engine tokens equal the reference: preempted and computed again", "[unit][kernels]") {
  const Scenario s = tiny_scenario(
      R"("max_num_batched_tokens": 64, "max_num_seqs": 8, "num_gpu_blocks_override": 20,
         "enable_prefix_caching": false, "max_model_len": 200)",
      kBusy);
  const EngineRun run = run_engine(s);
  CHECK(run.preemptions > 3);
  require_reference_tokens(run, s);
}

TEST_CASE("engine tokens equal the reference: conversations over a prefix cache",
          "[unit][kernels]") {
  const Scenario s = tiny_scenario(
      R"("max_num_batched_tokens": 48, "max_num_seqs": 8, "num_gpu_blocks_override": 300)",
      R"("num_prompts": 24, "request_rate": 40, "input_len": 19, "output_len": 21,
         "sessions": {"turns": 3, "new_input_len": 19, "think_time_s": 0.05,
                      "shared_prefix_tokens": 40, "prefix_groups": 2})");
  const EngineRun run = run_engine(s);
  CHECK(run.prefix_hits > 500);
  require_reference_tokens(run, s);
  // A later turn repeats what was said before, to the token.
  const auto& first = run.conversations.front();
  bool repeated = false;
  for (const Conversation& c : run.conversations) {
    std::vector<std::int32_t> said = first.prompt;
    said.insert(said.end(), first.answer.begin(), first.answer.end());
    repeated = repeated || (c.prompt.size() > said.size() &&
                            std::equal(said.begin(), said.end(), c.prompt.begin()));
  }
  CHECK(repeated);
}

TEST_CASE("engine tokens equal the reference: pages of 32, other schedulers", "[unit][kernels]") {
  for (const char* scheduler : {"vllm-v1", "sarathi", "fcfs-nochunk", "orca", "vllm-0.2", "sjf"}) {
    INFO(scheduler);
    const Scenario s =
        tiny_scenario(std::string(R"("scheduler": ")") + scheduler +
                          R"(", "block_size": 32, "max_num_batched_tokens": 96, "max_num_seqs": 6,
               "num_gpu_blocks_override": 100, "max_model_len": 160)",
                      kBusy);
    require_reference_tokens(run_engine(s), s);
  }
}

std::map<std::uint64_t, std::vector<std::int32_t>> answers(const EngineRun& run) {
  std::map<std::uint64_t, std::vector<std::int32_t>> by_request;
  for (const Conversation& c : run.conversations) by_request[c.request] = c.answer;
  return by_request;
}

TEST_CASE("speculation leaves the greedy answers as they are", "[unit][kernels]") {
  const char* const engine =
      R"("max_num_batched_tokens": 64, "max_num_seqs": 8, "num_gpu_blocks_override": 60)";
  const Scenario plain = tiny_scenario(engine, kBusy);
  const auto expected = answers(run_engine(plain));

  Scenario ngram = tiny_scenario(engine, kBusy, R"("speculation": {"method": "ngram",
    "num_speculative_tokens": 3, "acceptance": 0.5})");
  const EngineRun looked_up = run_engine(ngram);
  CHECK(answers(looked_up) == expected);
  CHECK(looked_up.speculation.accepted_tokens > 20);

  // All layers but the last guess nearly as well as the whole; few guess badly. Neither matters.
  for (const std::int32_t layers : {1, 2}) {
    Scenario draft = tiny_scenario(engine, kBusy, R"("speculation": {"method": "draft_model",
      "draft_model": "toy-llama-12m", "num_speculative_tokens": 4, "acceptance": 0.5})");
    const EngineRun drafted = run_engine(draft, layers);
    CHECK(answers(drafted) == expected);
    CHECK(drafted.speculation.drafted_tokens > 200);
    CHECK(drafted.speculation.accepted_tokens < drafted.speculation.drafted_tokens);
  }
  // A draft of all layers is the model itself: every draft is right.
  Scenario itself = tiny_scenario(engine, kBusy, R"("speculation": {"method": "draft_model",
      "draft_model": "toy-llama-12m", "num_speculative_tokens": 2, "acceptance": 0.5})");
  const EngineRun sure = run_engine(itself, 3);
  CHECK(answers(sure) == expected);
  CHECK(sure.speculation.accepted_tokens == sure.speculation.drafted_tokens);
}

TEST_CASE("the engine refuses what it cannot run", "[unit][kernels]") {
  const auto refused = [](const char* engine, const char* workload, const char* more,
                          const std::string& word) {
    try {
      run_engine(tiny_scenario(engine, workload, more));
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(word) != std::string::npos);
      return;
    }
    FAIL_CHECK("nothing was refused: " << word);
  };
  const char* const few = R"("num_prompts": 1, "request_rate": 1, "input_len": 4, "output_len": 2)";
  refused(R"("block_size": 8, "num_gpu_blocks_override": 128)", few, "", "block_size");
  refused(R"("scheduler": "sglang")", few, "", "scheduler");
  refused(R"("num_gpu_blocks_override": 64)",
          R"("num_prompts": 1, "request_rate": 1, "input_len": 4, "output_len": 2, "samples": 2)",
          "", "samples");
  refused(R"("num_gpu_blocks_override": 64)", few,
          R"("speculation": {"method": "medusa", "num_speculative_tokens": 2,
                      "acceptance": [0.5, 0.4]})",
          "speculation");
}

}  // namespace
}  // namespace headway::kernels
