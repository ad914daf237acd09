// Answers that are refined block by block, in closed form.
#include <vector>

#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

class Heard : public Observer {
 public:
  void on_step(const StepRecord& s) override { steps.push_back(s); }
  void on_finish(const RequestRecord& r) override { requests.push_back(r); }
  void on_preemption(std::uint64_t, std::uint32_t, SimTime) override { ++preemptions; }
  std::vector<StepRecord> steps;
  std::vector<RequestRecord> requests;
  int preemptions = 0;
};

// Steps of one millisecond.
BenchEngine diffusion(std::int32_t block_length, std::int32_t refinement_steps) {
  BenchEngine bench("block-diffusion");
  bench.blueprint.scheduler.block_length = block_length;
  bench.blueprint.scheduler.refinement_steps = refinement_steps;
  bench.workload().input_len.value = 100;
  return bench;
}

Heard heard(BenchEngine& bench) {
  Heard ears;
  Observer* observers[] = {&ears};
  RunOptions options;
  options.check_every_event = true;
  bench.run(observers, options);
  return ears;
}

}  // namespace

TEST_CASE("block diffusion: a block's tokens come together after its last pass", "[fidelity]") {
  BenchEngine bench = diffusion(32, 16);
  bench.workload().output_len.value = 64;
  const Heard ears = heard(bench);
  REQUIRE(ears.requests.size() == 1);
  const RequestRecord& r = ears.requests.front();
  // The prompt, then two blocks of sixteen passes.
  REQUIRE(ears.steps.size() == 1 + 2 * 16);
  CHECK((r.first_token - r.arrival).ms() == Approx(17));
  CHECK((r.finish - r.arrival).ms() == Approx(33));
  CHECK(r.max_itl.ms() == Approx(16));
  CHECK(ears.steps.front().prefill_tokens == 100);
  for (std::size_t i = 1; i < ears.steps.size(); ++i) {
    CHECK(ears.steps[i].prefill_tokens == 0);
    CHECK(ears.steps[i].decode_tokens == 32);
  }
  CHECK(ears.steps.back().kv_tokens_stored == 164);
}

TEST_CASE("block diffusion: a last block that is cut short takes its share of the passes",
          "[fidelity]") {
  BenchEngine bench = diffusion(32, 16);
  bench.workload().output_len.value = 40;  // 32 and 8: a quarter of the block
  const Heard ears = heard(bench);
  REQUIRE(ears.steps.size() == 1 + 16 + 4);
  CHECK(ears.steps.back().decode_tokens == 8);
}

TEST_CASE("block diffusion: every token of a block is priced in every pass", "[fidelity]") {
  BenchEngine bench = diffusion(8, 4);
  bench.cost(0, 1.0, 1000.0);  // a microsecond a row; no sequence decodes
  bench.workload().output_len.value = 16;
  const Heard ears = heard(bench);
  CHECK((ears.requests.front().finish - ears.requests.front().arrival).us() ==
        Approx(100 + 2 * 4 * 8));
  // Passes are the request's own time, not somebody's prefill.
  const auto& split = ears.requests.front().split;
  CHECK(split[static_cast<std::size_t>(LatencyPart::kPrefill)].us() == Approx(100));
  CHECK(split[static_cast<std::size_t>(LatencyPart::kDecode)].us() == Approx(64));
}

TEST_CASE("block diffusion: blocks of one token in one pass are autoregression", "[fidelity]") {
  BenchEngine bench = diffusion(1, 1);
  bench.workload().output_len.value = 50;
  const Heard ears = heard(bench);
  CHECK(ears.steps.size() == 1 + 50);
  CHECK(ears.requests.front().max_itl.ms() == Approx(1));
}

TEST_CASE("block diffusion: requests join between passes; short memory preempts and all finish",
          "[fidelity]") {
  BenchEngine bench = diffusion(16, 4);
  bench.blueprint.scheduler.num_blocks = 40;  // 640 tokens: three answers of 64 to 100
  bench.workload().num_prompts = 40;
  bench.workload().request_rate = 1000;
  bench.workload().output_len.value = 128;
  const Heard ears = heard(bench);
  CHECK(ears.requests.size() == 40);
  CHECK(ears.preemptions > 0);
  bool joined = false;
  for (const StepRecord& s : ears.steps) joined |= s.prefill_tokens > 0 && s.decode_tokens > 0;
  CHECK(joined);
}

TEST_CASE("block diffusion: a budget below a block is refused", "[fidelity]") {
  BenchEngine bench = diffusion(32, 16);
  bench.engine().max_num_batched_tokens = 16;
  CHECK_THROWS_WITH(heard(bench), ContainsSubstring("blocks of 32 tokens"));
}
