// What windows and states buy, in closed form: KV that stops growing, and the sequences that fit.
#include <algorithm>

#include "sim/kv/kv_layout.h"
#include "sim/model/hf_config.h"
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

class Peak : public Observer {
 public:
  void on_step(const StepRecord& s) override {
    blocks = std::max(blocks, s.kv_blocks);
    batch = std::max<std::int64_t>(batch, s.batch);
    preemptions += s.preempted;
  }
  std::int64_t blocks = 0, batch = 0, preemptions = 0;
};

// `num_prompts` at once, 16 tokens of prompt each, under a layout of the model.
Peak run(const std::string& scheduler, const KvLayout& layout, std::int64_t blocks,
         std::int32_t prompts, std::int32_t answer, const std::string& allocator = "") {
  BenchEngine bench(scheduler);
  bench.engine().max_model_len = bench.blueprint.replica.max_model_len = 1 << 20;
  bench.engine().max_num_seqs = prompts;
  bench.engine().kv_allocator = allocator;
  bench.blueprint.scheduler.num_blocks = blocks;
  apply_layout(layout, 0, bench.blueprint.scheduler);
  bench.workload().num_prompts = prompts;
  bench.workload().request_rate = 1e9;
  bench.workload().output_len.value = answer;
  Peak peak;
  Observer* observers[] = {&peak};
  bench.run(observers);
  return peak;
}

ModelSpec windowed(std::int32_t window) {
  LayerSpec layer = dense_layer(8, 8, 64, 128);
  layer.mixer.window = window;
  ModelSpec model;
  model.layers = alike_layers(4, layer);
  return model;
}

}  // namespace

TEST_CASE("a window's blocks are bounded, however long the answer", "[fidelity][layout]") {
  const KvLayout layout = kv_layout(windowed(64), {});
  for (const std::int32_t answer : {200, 5000, 60'000}) {
    // 64 tokens, wherever in blocks of 16 they begin, of each of three sequences.
    CHECK(run("vllm-v1", layout, 10'000, 3, answer).blocks == 3 * 5);
    // A ring needs no block more than the window.
    CHECK(run("fcfs-nochunk", layout, 10'000, 3, answer).blocks == 3 * 4);
  }
  // Of full attention the same answers take a block every 16 tokens: the last one is not stored.
  const KvLayout full = kv_layout(windowed(0), {});
  CHECK(run("vllm-v1", full, 20'000, 3, 60'000).blocks == 3 * ((16 + 60'000 - 1 + 15) / 16));
}

TEST_CASE("full layers grow, the windows beside them do not", "[fidelity][layout]") {
  const KvLayout layout = kv_layout(load_model("gpt-oss-20b", "."), {});
  const std::int32_t answer = 30'000;
  // The last token whose KV is stored, and a window of 128 in at most nine blocks.
  const std::int64_t full = (16 + answer - 1 + 15) / 16;
  const std::int64_t peak = run("vllm-v1", layout, 10'000, 1, answer).blocks;
  CHECK(peak >= full + 8);
  CHECK(peak <= full + 9);
}

TEST_CASE("the sequences that fit: memory over what each keeps", "[fidelity][layout]") {
  const ModelSpec model = load_model("gemma-3-27b", ".");
  const KvLayout groups = kv_layout(model, {});
  const KvLayout all = kv_layout(model, {.rule = KvRule::kAllTokens});
  const std::int64_t memory = std::int64_t{40} << 30;
  const std::int32_t length = 16'384;
  const auto fits = [&](const KvLayout& layout) {
    const std::int64_t blocks = memory / layout.block_bytes;
    return run("orca", layout, blocks, 200, length - 16, "reserve-exact").batch;
  };
  // By hand: a layer keeps 8192 bytes a token. All of 62 layers: 8.3 GB a sequence. Of 10 layers
  // all tokens, of the 60 places for 52 windowed ones the last 1024: 1.8 GB.
  const std::int64_t a_token = 2 * 16 * 128 * 2;
  CHECK(fits(all) == memory / (62 * a_token * length));
  CHECK(fits(groups) == memory / (10 * a_token * length + 60 * a_token * 1024));
  CHECK(fits(groups) > 4 * fits(all));
}

TEST_CASE("states bound the batch by slots, whatever the length", "[fidelity][layout]") {
  const ModelSpec model = load_model("mamba2-2.7b", ".");
  const KvLayout layout = kv_layout(model, {});
  for (const std::int32_t answer : {100, 20'000}) {
    CHECK(run("vllm-v1", layout, 1 + 24, 60, answer).batch == 24);  // one block is the null block
    CHECK(run("fcfs-nochunk", layout, 24, 60, answer).batch == 24);
  }
  const KvLayout one_table =
      kv_layout(model, {.rule = KvRule::kAllTokens, .max_model_len = 1 << 15});
  CHECK(run("sglang", one_table, 24, 60, 100).batch == 24);
}
