// Cases for layers that keep something else than every token.
#include <algorithm>

#include "sim/core/random.h"
#include "tests/contract/scheduler_case.h"

namespace headway::contract {
namespace {

LayerSpec attention(std::int32_t window = 0) {
  LayerSpec layer = dense_layer(4, 2, 8, 32);
  layer.mixer.window = window;
  return layer;
}

LayerSpec latent() {
  LayerSpec layer = attention();
  layer.mixer.kind = MixerKind::kLatentAttention;
  layer.mixer.kv_lora_rank = 12;
  layer.mixer.qk_rope_head_dim = 4;
  return layer;
}

LayerSpec reader() {
  LayerSpec layer = attention();
  layer.mixer.shares_kv = true;
  return layer;
}

LayerSpec compressed() {
  LayerSpec layer = attention(5);
  layer.mixer.sparse.compression = 2;
  return layer;
}

LayerSpec state() {
  LayerSpec layer = attention();
  layer.mixer = {.kind = MixerKind::kMamba2};
  layer.mixer.state = {.heads = 2, .groups = 1, .key_dim = 4, .value_dim = 4};
  return layer;
}

ModelSpec of(std::vector<LayerSpec> layers) {
  ModelSpec model;
  model.hidden_size = 32;
  model.vocab_size = 64;
  model.max_position_embeddings = 64;
  model.layers = std::move(layers);
  return model;
}

// The longest sequence of which a slot of llama.cpp's has all blocks.
std::int32_t longest_in_slot(const SchedulerConfig& config) {
  const EngineOptions& engine = config.engine;
  const std::int64_t blocks = config.num_blocks / std::min(engine.n_parallel, engine.max_num_seqs);
  std::int32_t tokens = 0;
  while (tokens < engine.max_model_len && config.kv.ring(tokens + 1, engine.n_ubatch) <= blocks) {
    ++tokens;
  }
  return tokens;
}

}  // namespace

std::vector<NamedModel> small_models() {
  const LayerSpec full = attention(), narrow = attention(3), wide = attention(9);
  return {
      {"latent", of({latent(), latent()})},
      {"shared across layers", of({full, reader(), full, reader()})},
      {"window beside full", of({full, wide, wide, wide, full, wide})},
      {"two windows", of({wide, narrow, full})},
      {"window alone", of({wide, wide})},
      {"compressed", of({compressed(), narrow, compressed()})},
      {"states beside attention", of({state(), state(), full, state()})},
      {"states, windows and attention", of({state(), wide, full})},
      {"states alone", of({state(), state()})},
  };
}

SchedulerCase draw_case(std::string_view scheduler, std::uint64_t seed, const ModelSpec& model) {
  SchedulerCase c = draw_case(scheduler, seed);
  SchedulerConfig& config = c.config;
  EngineOptions& engine = config.engine;
  RandomStream stream(seed, "layout contract");
  const KvLayout layout = kv_layout(model, {.rule = find_scheduler(engine.scheduler).kv_rule,
                                            .block_size = engine.block_size,
                                            .max_model_len = engine.max_model_len,
                                            .drafted_tokens = config.num_speculative_tokens});
  const std::int32_t step = engine.max_num_batched_tokens + config.num_speculative_tokens;
  const std::int64_t least = std::max(layout.most(engine.max_model_len, step),
                                      layout.ring(engine.max_model_len, engine.n_ubatch)) +
                             1;
  config.num_blocks = least;
  if (stream.uniform() < 0.6) config.num_blocks += stream.uniform_int(0, 2 * least);
  if (!c.must_serve_all) config.num_blocks = std::max<std::int64_t>(2, config.num_blocks / 2);
  if (engine.scheduler == "llamacpp") {
    config.num_blocks *= std::min(engine.n_parallel, engine.max_num_seqs);
  }
  config.num_cpu_blocks = stream.uniform_int(0, 2) * config.num_blocks / 2;
  const std::int64_t slots = stream.uniform_int(1, engine.max_num_seqs);
  apply_layout(layout, layout.state_bytes > 0 ? slots : 0, config);
  const std::int32_t longest =
      engine.scheduler == "llamacpp" ? longest_in_slot(config) : engine.max_model_len;
  for (std::size_t i = 0; i < c.requests.size(); ++i) {
    const Request& r = c.requests[i];
    c.token_limit[i] = std::min(r.output_tokens, longest - r.prompt_tokens);
  }
  return c;
}

}  // namespace headway::contract
