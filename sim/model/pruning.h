#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/model_spec.h"

namespace headway {

// Structured pruning: what is left of a model when whole parts are taken away. Figures are what
// remains, 0 = as it was; each is at most what there was.
struct Pruning {
  std::string preset;                     // a row of pruning_presets(), or ""
  std::vector<std::int32_t> drop_layers;  // by index
  // Without drop_layers: the deepest layers but the last go, which depth pruning finds to matter
  // least (arXiv 2403.03853, 2408.11796).
  std::int32_t num_hidden_layers = 0;
  std::int32_t hidden_size = 0;
  std::int32_t num_attention_heads = 0;  // of every layer that has attention; so below
  std::int32_t num_key_value_heads = 0;
  std::int32_t intermediate_size = 0;      // of dense MLPs
  std::int32_t moe_intermediate_size = 0;  // of experts
  std::int32_t num_experts = 0;
};

// A figure that somebody published about a pruned model. Shown as such; nothing is computed from
// it.
struct Citation {
  const char* what;    // "MMLU, 5-shot"
  const char* value;   // as printed there
  const char* source;  // where
};

// A published model that came out of pruning another one.
struct PruningPreset {
  const char* name;
  const char* base;              // catalogue name
  std::int64_t base_parameters;  // which a model must have to be pruned so
  Pruning figures;
  double published_parameters;  // rounded to published_digits; 0 = not published as a number
  std::int32_t published_digits;
  const char* source;
  std::vector<Citation> citations;
};
const std::vector<PruningPreset>& pruning_presets();

// The pruned model: named after its preset, else `model`'s name. Accuracy is not simulated.
// InputError, placed at "pruning.KEY": a figure that adds instead of taking away, heads that do not
// divide, a layer that is not there, a preset of another model.
ModelSpec prune(const ModelSpec& model, const Pruning& pruning, const std::string& file);

}  // namespace headway
