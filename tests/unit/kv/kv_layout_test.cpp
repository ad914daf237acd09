#include "sim/kv/kv_layout.h"

#include <cmath>

#include "sim/model/hf_config.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

ModelSpec catalogue(const std::string& name) { return load_model(name, "."); }

LayerSpec attention(std::int32_t kv_heads, std::int32_t head_dim, std::int32_t window = 0) {
  LayerSpec layer = dense_layer(kv_heads, kv_heads, head_dim, 64);
  layer.mixer.window = window;
  return layer;
}

LayerSpec delta_net(std::int32_t value_heads, double element_bytes) {
  LayerSpec layer;
  layer.mixer = {.kind = MixerKind::kGatedDeltaNet};
  layer.mixer.state = {.heads = value_heads,
                       .groups = 16,
                       .key_dim = 128,
                       .value_dim = 128,
                       .conv_kernel = 4,
                       .element_bytes = element_bytes};
  return layer;
}

// Every `every`-th layer is `rare`.
ModelSpec mixed(std::int32_t layers, std::int32_t every, const LayerSpec& rare,
                const LayerSpec& other) {
  ModelSpec model;
  model.max_position_embeddings = 131072;
  for (std::int32_t i = 1; i <= layers; ++i) model.layers.push_back(i % every == 0 ? rare : other);
  return model;
}

std::int64_t groups_of(const KvLayout& layout, KvKind kind) {
  return std::count_if(layout.groups.begin(), layout.groups.end(),
                       [&](const KvGroup& group) { return group.kind == kind; });
}

TEST_CASE("layers that are alike are one group, as wide as all of them", "[unit][kv]") {
  const KvLayout layout = kv_layout(catalogue("llama-3.1-8b"), {});
  CHECK(layout.plain());
  CHECK(layout.groups.size() == 1);
  CHECK(layout.block_bytes == 16 * 2 * 8 * 128 * 2 * 32);
  CHECK(kv_layout(catalogue("llama-3.1-8b"), {.kv = DType::kFp8}).block_bytes * 2 ==
        layout.block_bytes);
  CHECK(layout.held(0, 33) == 3);
  CHECK(layout.most(33, 8) == 3);
}

TEST_CASE("a latent is 576 wide and on every rank", "[unit][kv]") {
  const ModelSpec model = catalogue("deepseek-v2-lite");
  const KvLayout layout = kv_layout(model, {});
  CHECK(layout.plain());
  CHECK(layout.block_bytes == 16 * 576 * 2 * 27);
  CHECK(kv_layout(model, {.tensor_parallel_size = 4}).block_bytes == layout.block_bytes);
  // DeepSeek-V3.2's indexer keeps a key of 128 bytes a token besides.
  CHECK(kv_layout(catalogue("deepseek-v3.2"), {}).block_bytes == 16 * (576 * 2 + 128) * 61);
}

TEST_CASE("a layer that reads another one's cache keeps nothing", "[unit][kv]") {
  LayerSpec reader = attention(8, 128);
  reader.mixer.shares_kv = true;
  const KvLayout layout = kv_layout(mixed(32, 2, reader, attention(8, 128)), {});
  CHECK(layout.plain());
  CHECK(layout.groups[0].layers == 16);
  CHECK(layout.block_bytes == 16 * 2 * 8 * 128 * 2 * 16);
}

TEST_CASE("gpt-oss: as many windowed layers as full ones, in two groups", "[unit][kv]") {
  const KvLayout layout = kv_layout(catalogue("gpt-oss-20b"), {});
  REQUIRE(layout.groups.size() == 2);
  CHECK(groups_of(layout, KvKind::kFull) == 1);
  CHECK(groups_of(layout, KvKind::kWindow) == 1);
  for (const KvGroup& group : layout.groups) CHECK(group.layers == 12);
  CHECK(layout.padding_layers == 0);
  CHECK(layout.block_bytes == 16 * 2 * 8 * 64 * 2 * 12);
  // 131072 tokens: 8192 blocks of full attention; of a window of 128 in decode steps 127 tokens and
  // the new one, anywhere within 9 blocks.
  CHECK(layout.most(131072, 1) == 8192 + 9);
  CHECK(layout.held(131071, 131072) == 8192 + 8);
}

TEST_CASE("Gemma 3: groups as large as the rarest kind, the last one padded", "[unit][kv]") {
  const KvLayout layout = kv_layout(catalogue("gemma-3-27b"), {});
  CHECK(groups_of(layout, KvKind::kFull) == 1);    // of 10 layers
  CHECK(groups_of(layout, KvKind::kWindow) == 6);  // of 52
  CHECK(layout.padding_layers == 8);
  CHECK(layout.block_bytes == 16 * 2 * 16 * 128 * 2 * 10);
}

// A start-up of vLLM with google/gemma-3-4b-it (ovg-project/kvcached issue 215): "Add 1 padding
// layers, may waste at most 3.45% KV cache memory", "GPU KV cache size: 317,136 tokens", "Maximum
// concurrency for 3,072 tokens per request: 102.78x". The first figure is blocks / groups * 16.
TEST_CASE("the log of a Gemma 3 4B is reproduced", "[unit][kv]") {
  const KvLayout layout =
      kv_layout(mixed(34, 6, attention(4, 256), attention(4, 256, 1024)), {});
  CHECK(layout.padding_layers == 1);
  CHECK(100.0 / 29 == Approx(3.45).margin(0.005));  // one for 29 windowed layers
  REQUIRE(layout.groups.size() == 7);
  const std::int64_t blocks = 317'136 / 16 * 7;
  const auto concurrency = [&](std::int64_t n) {
    return static_cast<double>(n) / static_cast<double>(layout.most(3072, 8192));
  };
  CHECK(concurrency(blocks) < 102.785);
  CHECK(concurrency(blocks + 6) > 102.775);
}

// A start-up of vLLM 0.19.0 with Qwen3.5-27B (vllm issue 40691; 48 gated delta nets of 48 value
// heads and 16 of attention, four KV heads of 256): "GPU KV cache size: 290,864 tokens", "Maximum
// concurrency for 32,768 tokens per request: 33.04x".
TEST_CASE("the log of a Qwen3.5 27B is reproduced", "[unit][kv]") {
  const KvLayout layout = kv_layout(mixed(64, 4, attention(4, 256), delta_net(48, 4)), {});
  CHECK(layout.recurrent);
  CHECK(groups_of(layout, KvKind::kFull) == 1);
  CHECK(groups_of(layout, KvKind::kState) == 3);
  CHECK(layout.block_size == 784);
  REQUIRE(290'864 % layout.block_size == 0);
  const std::int64_t blocks = 290'864 / layout.block_size * 4;
  const std::int64_t each = layout.most(32768, 16384);
  CHECK(each == 42 + 3);
  const auto shown = [&](std::int64_t n) {
    return std::round(100.0 * static_cast<double>(n) / static_cast<double>(each)) / 100;
  };
  CHECK(shown(blocks) <= 33.04);
  CHECK(shown(blocks + 3) == 33.04);
}

// "Setting attention block size to 528 tokens ...", "Padding mamba page size by 0.76% ..." (vllm
// pull request 37467): 32 value heads beside four KV heads of 256.
TEST_CASE("attention's block is as large as a state, in steps of 16 tokens", "[unit][kv]") {
  const ModelSpec model = mixed(32, 4, attention(4, 256), delta_net(32, 4));
  const KvLayout layout = kv_layout(model, {});
  CHECK(layout.block_size == 528);
  const double state = 32 * 128 * 128 * 4 + 3 * (32 + 2 * 16) * 128 * 2;
  const double page = static_cast<double>(layout.block_bytes) / 8;  // layers
  CHECK(100 * (page / state - 1) == Approx(0.76).margin(0.005));
  // Half the KV heads, half the states: the ratio stays.
  const KvLayout half = kv_layout(model, {.tensor_parallel_size = 2});
  CHECK(half.block_size == 528);
  CHECK(half.block_bytes * 2 == layout.block_bytes);
  // States of 16 bits take half the tokens; a larger block size is kept.
  CHECK(kv_layout(mixed(32, 4, attention(4, 256), delta_net(32, 2)), {}).block_size == 272);
  CHECK(kv_layout(model, {.block_size = 1024}).block_size == 1024);
}

TEST_CASE("without attention a block is a sequence's states", "[unit][kv]") {
  const ModelSpec model = catalogue("mamba2-2.7b");
  double bytes = 0;
  for (const LayerSpec& layer : model.layers) bytes += layer_cache(layer, DType::kBf16).state_bytes;
  const KvLayout groups = kv_layout(model, {});
  CHECK(groups.block_bytes == static_cast<std::int64_t>(std::ceil(bytes)));
  CHECK(groups.held(0, 1) == 1);
  CHECK(groups.most(1'000'000, 8192) == 1);
  CHECK(kv_layout(model, {.drafted_tokens = 3}).most(1000, 8) == 4);
  const KvLayout one_table =
      kv_layout(model, {.rule = KvRule::kAllTokens, .max_model_len = 2048});
  CHECK(one_table.block_a_sequence());
  CHECK(one_table.block_bytes == groups.block_bytes);
  CHECK(one_table.block_size == 2048);
}

TEST_CASE("one block table: every attention layer keeps every token", "[unit][kv]") {
  const KvLayout gemma = kv_layout(catalogue("gemma-3-27b"), {.rule = KvRule::kAllTokens});
  CHECK(gemma.plain());
  CHECK(gemma.block_bytes == 16 * 2 * 16 * 128 * 2 * 62);
  const ModelSpec hybrid = mixed(64, 4, attention(4, 256), delta_net(48, 4));
  const KvLayout states = kv_layout(hybrid, {.rule = KvRule::kAllTokens});
  CHECK(states.plain());
  CHECK(states.recurrent);
  CHECK(states.block_size == 16);
  CHECK(states.block_bytes == 16 * 4096 * 16);
  CHECK(states.state_bytes == 48 * (48 * 128 * 128 * 4 + 3 * (48 + 2 * 16) * 128 * 2));
}

TEST_CASE("a layout in words", "[unit][kv]") {
  CHECK(describe(kv_layout(catalogue("llama-3.1-8b"), {})) == "");
  CHECK(describe(kv_layout(catalogue("gemma-3-27b"), {})) ==
        "52 layers keep the last 1024, 10 all tokens: 7 groups, blocks of 16 tokens");
  CHECK(describe(kv_layout(mixed(64, 4, attention(4, 256), delta_net(48, 4)), {})) ==
        "48 layers keep a state, 16 all tokens: 4 groups, blocks of 784 tokens");
  CHECK(describe(kv_layout(catalogue("mamba2-2.7b"), {})) ==
        "64 layers keep a state: 1 group");
}

TEST_CASE("kinds whose tokens are smaller have more of them a block", "[unit][kv]") {
  // Half as wide: twice as many tokens. As many layers of each.
  const KvLayout layout =
      kv_layout(mixed(8, 2, attention(2, 64), attention(4, 64, 100)), {.block_size = 16});
  REQUIRE(layout.groups.size() == 2);
  CHECK(layout.groups[0].block_size == 16);
  CHECK(layout.groups[1].block_size == 32);
  CHECK(layout.period() == 32);
  CHECK(layout.block_bytes == 16 * 2 * 4 * 64 * 2 * 4);
}

TEST_CASE("a few more layers of one kind are padding, many are groups", "[unit][kv]") {
  ModelSpec model = mixed(24, 2, attention(8, 64), attention(8, 64, 128));
  model.layers.push_back(attention(8, 64));  // a drafter's: 13 full, 12 windowed
  const KvLayout padded = kv_layout(model, {});
  CHECK(padded.groups.size() == 2);
  CHECK(padded.padding_layers == 1);
  for (int i = 0; i < 5; ++i) model.layers.push_back(attention(8, 64));  // 18 full
  CHECK(kv_layout(model, {}).groups.size() == 3);
}

TEST_CASE("a pipeline stage's block is of its own layers of a group", "[unit][kv]") {
  const ModelSpec model = mixed(24, 6, attention(8, 64), attention(8, 64, 128));
  const KvLayout whole = kv_layout(model, {});
  const KvLayout half = kv_layout(model, {}, 0, 12);
  CHECK(whole.groups == half.groups);
  CHECK(whole.block_bytes == half.block_bytes * 2);
}

TEST_CASE("compressed layers: their entries, and a window of tokens as they are", "[unit][kv]") {
  const KvLayout layout = kv_layout(catalogue("deepseek-v4-flash"), {});
  REQUIRE(layout.groups.size() == 2);
  CHECK(groups_of(layout, KvKind::kFull) == 1);
  CHECK(groups_of(layout, KvKind::kWindow) == 1);
  const double per_token = kv_bytes_per_token(catalogue("deepseek-v4-flash"), DType::kBf16);
  for (const KvGroup& group : layout.groups) {
    if (group.kind == KvKind::kWindow) {
      CHECK(group.layers == 43);
      CHECK(group.window == 128);
    } else {
      // As many tokens a block as fit into the bytes of 16 tokens of the windows.
      CHECK(group.block_size * per_token <= static_cast<double>(layout.block_bytes));
      CHECK((group.block_size + 16) * per_token > static_cast<double>(layout.block_bytes));
    }
  }
}

TEST_CASE("blocks of a window: of a step, freed, of a ring", "[unit][kv]") {
  const KvGroup window{.kind = KvKind::kWindow, .window = 9, .block_size = 4};
  CHECK(window.skipped(8) == 0);
  CHECK(window.skipped(11) == 0);   // token 11 sees 3..11
  CHECK(window.skipped(12) == 1);   // token 12 sees 4..12
  CHECK(window.held(12, 13) == 3);  // 4..12
  CHECK(window.held(0, 40) == 10);  // a prompt in one step
  std::int64_t most = 0;
  for (std::int64_t tokens = 0; tokens < 200; ++tokens) {
    most = std::max(most, window.held(tokens, tokens + 1));
  }
  CHECK(most == 3);
  CHECK(most <= window.most(200, 1));
  CHECK(window.ring(5) == 2);
  CHECK(window.ring(1000) == 3);
  CHECK(window.ring(1000, 4) == 4);
}

}  // namespace
}  // namespace headway
