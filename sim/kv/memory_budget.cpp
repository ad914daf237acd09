#include "sim/kv/memory_budget.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "sim/core/errors.h"
#include "sim/kv/model_shard.h"

namespace headway {
namespace {

// Fitted on one start-up: Llama-3.1-8B on an RTX 4090 under vLLM 0.19.0, whose log states 2588
// blocks (tests/fidelity/memory_budget_test.cpp). 333 MB are what weights, activations and cache
// leave there; 320 MiB is the round figure nearest to it.
constexpr std::int64_t kOverheadBytes = std::int64_t{320} << 20;

// Start-up logs of vLLM report 0.11 GiB for 30 graphs and 0.73 GiB for 86: 4 to 9 MiB each.
constexpr std::int64_t kBytesPerGraph = std::int64_t{8} << 20;

std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GB", bytes / 1e9);
  return text;
}

[[noreturn]] void refuse_size(const std::string& file, const char* key, std::int32_t size,
                              const std::string& expected) {
  throw InputError({file, std::string("parallel.") + key, std::to_string(size), expected});
}

// Heads of attention, or of states where there is none.
struct Heads {
  std::int32_t heads, shared;  // shared: key/value heads, or groups
};

Heads heads_of(const ModelSpec& model) {
  if (has_attention(model)) {
    const MixerSpec& m = first_attention(model);
    return {m.heads, m.kv_heads};
  }
  for (const LayerSpec& layer : model.layers) {
    if (layer.mixer.is_state()) return {layer.mixer.state.heads, layer.mixer.state.groups};
  }
  return {1, 1};
}

bool divides_heads(const ModelSpec& model, std::int32_t tp) {
  const auto [heads, shared] = heads_of(model);
  return heads % tp == 0 && (shared % tp == 0 || tp % shared == 0);
}

void check_parallel(const ModelSpec& model, const MemoryOptions& o, const std::string& file) {
  if (o.tensor_parallel_size < 1 || !divides_heads(model, o.tensor_parallel_size)) {
    const auto [heads, shared] = heads_of(model);
    refuse_size(file, "tensor_parallel_size", o.tensor_parallel_size,
                "a divisor of the model's " + std::to_string(heads) +
                    " heads, and a divisor or multiple of its " + std::to_string(shared) +
                    (has_attention(model) ? " key/value heads" : " groups of states"));
  }
  if (o.pipeline_parallel_size < 1 || o.pipeline_parallel_size > model.num_hidden_layers()) {
    refuse_size(file, "pipeline_parallel_size", o.pipeline_parallel_size,
                "from 1 to the model's " + std::to_string(model.num_hidden_layers()) + " layers");
  }
  std::int32_t experts = 0;  // some layers have none
  for (const LayerSpec& layer : model.layers) experts = std::max(experts, layer.mlp.experts);
  if (o.expert_parallel_size < 1 || o.expert_parallel_size > std::max(1, experts)) {
    refuse_size(file, "expert_parallel_size", o.expert_parallel_size,
                experts > 0 ? "from 1 to the model's " + std::to_string(experts) + " experts"
                            : "1, as " + model.name + " has no experts");
  }
}

KvLayoutOptions layout_options(const ModelSpec& model, const MemoryOptions& options) {
  return {.rule = options.kv_rule,
          .kv = options.precision.kv,
          .tensor_parallel_size = options.tensor_parallel_size,
          .block_size = options.block_size,
          .max_model_len =
              options.max_model_len > 0 ? options.max_model_len : model.max_position_embeddings,
          .drafted_tokens = options.drafted_tokens};
}

// All but the cache of one stage.
MemoryBudget fixed_parts(const ModelSpec& model, const GpuSpec& gpu, const MemoryOptions& options,
                         std::int32_t stage) {
  const ModelShard shard(model, options, stage);
  MemoryBudget b;
  b.total_bytes = gpu.memory_bytes;
  b.usable_bytes = static_cast<std::int64_t>(
      std::ceil(static_cast<double>(gpu.memory_bytes) * options.gpu_memory_utilization));
  b.weight_bytes = shard.weight_bytes() + options.draft_weight_bytes;
  b.activation_bytes = shard.activation_bytes();
  b.overhead_bytes = kOverheadBytes;
  b.layout =
      kv_layout(model, layout_options(model, options), shard.first_layer(), shard.layers());
  b.block_size = b.layout.block_size;
  b.block_bytes = b.layout.block_bytes + options.draft_kv_bytes_per_token * b.block_size;
  return b;
}

std::int64_t room(const MemoryBudget& b) {
  return b.usable_bytes - b.weight_bytes - b.activation_bytes - b.overhead_bytes -
         b.state_cache_bytes;
}

constexpr double kStateShare = 0.9 / 1.9;

void set_states_aside(const MemoryOptions& options, MemoryBudget& b) {
  if (b.layout.state_bytes == 0) return;
  const double share = kStateShare * static_cast<double>(std::max<std::int64_t>(0, room(b)));
  const auto slots = static_cast<std::int64_t>(share / static_cast<double>(b.layout.state_bytes));
  b.state_slots = std::clamp<std::int64_t>(slots, 1, options.max_num_seqs);
  b.state_cache_bytes = b.state_slots * b.layout.state_bytes;
}

std::int32_t next_graph_size(std::int32_t size) {
  if (size < 4) return 2 * size;
  if (size < 8) return 8;
  return size + (size < 256 ? 8 : 16);
}

// vLLM captures 1, 2, 4, 8, 16 ... 248, 256, 272 ... up to twice the sequence cap (at most 512),
// once with attention outside the graph, and once in full for decode batches that can occur.
std::int64_t graph_count(const MemoryOptions& o) {
  const std::int32_t largest = std::min({2 * o.max_num_seqs, 512, o.max_num_batched_tokens});
  std::int64_t count = 0;
  for (std::int32_t size = 1; size <= largest; size = next_graph_size(size)) {
    count += size <= o.max_num_seqs ? 2 : 1;
  }
  return count;
}

// The smallest tensor_parallel_size at which the model fits, 0 when none up to 64 does.
std::int32_t fitting_tensor_parallel(const ModelSpec& model, const GpuSpec& gpu,
                                     MemoryOptions options) {
  for (std::int32_t tp = 2 * options.tensor_parallel_size; tp <= 64; tp *= 2) {
    options.tensor_parallel_size = tp;
    if (!divides_heads(model, tp)) continue;
    bool fits = true;
    for (std::int32_t stage = 0; stage < options.pipeline_parallel_size; ++stage) {
      MemoryBudget b = fixed_parts(model, gpu, options, stage);
      set_states_aside(options, b);
      fits = fits && room(b) >= b.block_bytes;
    }
    if (fits) return tp;
  }
  return 0;
}

[[noreturn]] void refuse_model(const ModelSpec& model, const GpuSpec& gpu,
                               const MemoryOptions& options, const MemoryBudget& b,
                               const std::string& file) {
  const auto needed = static_cast<double>(b.weight_bytes + b.activation_bytes + b.overhead_bytes +
                                          b.state_cache_bytes);
  const auto usable = static_cast<double>(b.usable_bytes);
  char share[32];
  std::snprintf(share, sizeof share, "%g", options.gpu_memory_utilization);
  std::string expected =
      "a GPU of at least " +
      gigabytes((needed + static_cast<double>(b.block_bytes)) / options.gpu_memory_utilization);
  const std::int32_t tp = fitting_tensor_parallel(model, gpu, options);
  if (tp > 0) expected += ", or parallel.tensor_parallel_size " + std::to_string(tp);
  if (bytes_per_element(options.precision.weights) >= 2) {
    expected += ", or smaller precision.weights";
  }
  throw InputError({file, "model",
                    model.name + ", which needs " + gigabytes(needed) + " a GPU (weights " +
                        gigabytes(static_cast<double>(b.weight_bytes)) + ") where " + gpu.name +
                        " gives " + gigabytes(usable) + " (" + share + " of " +
                        gigabytes(static_cast<double>(b.total_bytes)) +
                        "): " + gigabytes(needed + static_cast<double>(b.block_bytes) - usable) +
                        " too little",
                    expected});
}

[[noreturn]] void refuse_pin(const char* key, const MemoryBudget& b, const std::string& file) {
  const std::int64_t free = b.total_bytes - b.weight_bytes - b.state_cache_bytes;
  throw InputError({file, std::string("engine.") + key,
                    gigabytes(static_cast<double>(b.kv_cache_bytes)) + " of KV cache (" +
                        std::to_string(b.num_gpu_blocks) + " blocks)",
                    "from 1 block to the " + gigabytes(static_cast<double>(free)) + " (" +
                        std::to_string(std::max<std::int64_t>(0, free / b.block_bytes)) +
                        " blocks) that the weights leave of the GPU's memory"});
}

MemoryBudget stage_budget(const ModelSpec& model, const GpuSpec& gpu, const MemoryOptions& options,
                          std::int32_t stage, const std::string& file) {
  MemoryBudget b = fixed_parts(model, gpu, options, stage);
  set_states_aside(options, b);
  b.cuda_graph_bytes = options.enforce_eager ? 0 : graph_count(options) * kBytesPerGraph;
  b.pinned = options.num_gpu_blocks_override > 0 || options.kv_cache_memory_bytes > 0;
  if (options.num_gpu_blocks_override > 0) {
    b.num_gpu_blocks = options.num_gpu_blocks_override;
  } else if (options.kv_cache_memory_bytes > 0) {
    b.num_gpu_blocks = options.kv_cache_memory_bytes / b.block_bytes;
  } else {
    if (room(b) < b.block_bytes) refuse_model(model, gpu, options, b, file);
    b.num_gpu_blocks = room(b) / b.block_bytes;
  }
  // A count beyond the GPU's memory would overflow the product below, too.
  const std::int64_t most =
      std::max<std::int64_t>(0, b.total_bytes - b.weight_bytes - b.state_cache_bytes) /
      b.block_bytes;
  b.kv_cache_bytes = std::min(b.num_gpu_blocks, most + 1) * b.block_bytes;
  if (b.num_gpu_blocks < 1 || b.num_gpu_blocks > most) {
    refuse_pin(
        options.num_gpu_blocks_override > 0 ? "num_gpu_blocks_override" : "kv_cache_memory_bytes",
        b, file);
  }
  return b;
}

// The longest sequence whose blocks are at most `blocks`, 0 = none.
std::int64_t longest_held(const KvLayout& layout, std::int64_t blocks, std::int64_t step,
                          std::int64_t limit) {
  std::int64_t fits = 0, too_long = limit + 1;
  while (too_long - fits > 1) {
    const std::int64_t middle = fits + (too_long - fits) / 2;
    (layout.most(middle, step) <= blocks ? fits : too_long) = middle;
  }
  return fits;
}

void check_longest(const ModelSpec& model, const MemoryOptions& options, const MemoryBudget& b,
                   const std::string& file) {
  const bool given = options.max_model_len > 0;
  const std::int64_t longest = given ? options.max_model_len : model.max_position_embeddings;
  const std::int64_t step = std::int64_t{options.max_num_batched_tokens} + options.drafted_tokens;
  const std::int64_t needed = b.layout.most(longest, step);
  const std::int64_t held = b.num_gpu_blocks - 1;
  if (needed <= held) return;
  const std::int64_t fits = longest_held(b.layout, held, step, longest);
  const std::string tokens = b.layout.plain()
                                 ? std::to_string(b.block_size) + " tokens"
                                 : std::to_string(b.layout.groups.size()) + " groups of layers";
  throw InputError({file, "engine.max_model_len",
                    std::to_string(longest) + (given ? "" : " (the model's own)") +
                        ", a sequence of " + std::to_string(needed) + " KV blocks of " + tokens +
                        " where " + std::to_string(held) + " can be held",
                    "max_model_len <= " + std::to_string(fits) +
                        ", or more room for the KV cache"});
}

}  // namespace

MemoryBudget memory_budget(const ModelSpec& model, const GpuSpec& gpu, const MemoryOptions& options,
                           const std::string& file) {
  SIM_CHECK(options.block_size > 0 && options.max_num_seqs > 0 &&
            options.max_num_batched_tokens > 0 && options.gpu_memory_utilization > 0);
  check_parallel(model, options, file);
  MemoryBudget tightest = stage_budget(model, gpu, options, 0, file);
  for (std::int32_t stage = 1; stage < options.pipeline_parallel_size; ++stage) {
    const MemoryBudget b = stage_budget(model, gpu, options, stage, file);
    if (b.num_gpu_blocks < tightest.num_gpu_blocks) tightest = b;
  }
  check_longest(model, options, tightest, file);
  return tightest;
}

std::vector<BudgetLine> budget_lines(const MemoryBudget& b) {
  std::vector<BudgetLine> lines = {
      {"total_bytes", b.total_bytes, "memory of one GPU"},
      {"usable_bytes", b.usable_bytes, "the engine's share of it, gpu_memory_utilization"},
      {"weight_bytes", b.weight_bytes, "weights on one GPU"},
      {"activation_bytes", b.activation_bytes, "peak of a step of max_num_batched_tokens"},
      {"overhead_bytes", b.overhead_bytes, "driver context and workspaces"},
      {"cuda_graph_bytes", b.cuda_graph_bytes, "captured graphs, outside the share (estimate)"},
      {"kv_cache_bytes", b.kv_cache_bytes,
       b.pinned ? "KV cache, pinned by the scenario" : "KV cache, what is left of the share"},
      {"block_bytes", b.block_bytes,
       b.layout.plain() ? "one KV block on one GPU"
                        : "one KV block on one GPU, of one group of layers"},
  };
  if (b.state_slots > 0) {
    lines.push_back({"state_cache_bytes", b.state_cache_bytes,
                     "states of recurrent layers, a slot a sequence"});
  }
  return lines;
}

}  // namespace headway
