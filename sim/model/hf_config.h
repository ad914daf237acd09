#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/model/model_spec.h"

namespace headway {

// A catalogue name ("llama-3.1-8b"), a Hugging Face config.json, the folder that holds one, or a
// GGUF file (gguf.h). Relative paths start at base_folder. InputError: no such model (placed at
// `file`: `place`, with the nearest name), or what parse_model says.
ModelSpec load_model(const std::string& name_or_path, const std::string& base_folder,
                     const std::string& file = "", const std::string& place = "model");

// The text of a config.json, as the transformers library writes it for the architectures listed in
// architectures.cpp; catalogue files add `name`, `source`, `published_parameters` and
// `published_digits` (where the count was published rounded). Of a multi-modal model the nested
// text_config is read. head_dim is read where given and never assumed to be hidden_size /
// num_attention_heads. What the keys mean stands in config_attention.h and config_mlp.h; what a
// file leaves out takes the default of its model_type. A checkpoint published quantised
// (quantization_config) reads as the model it is of, with checkpoint_format set. Layers of
// multi-token prediction (num_nextn_predict_layers) are not part of the model.
// InputError names the key that is missing, wrong, or stands for what cannot be represented.
ModelSpec parse_model(const std::string& text, const std::string& file);

// The model with some figures changed at once, for `--set model.KEY=VALUE`; KEY is a key of
// config.json that means something to the architecture, or `pruning` (pruning.h: a preset's name,
// or an object of figures), and VALUE as JSON has it (a text needs no quotes; null: as if left
// out). What else follows from a changed figure stays as it was; lists with an entry a layer follow
// num_hidden_layers (cut, or repeated from their start). published_parameters is dropped.
// InputError, placed at "model.KEY".
using ModelOverride = std::pair<std::string, std::string>;
ModelSpec with_overrides(const ModelSpec& model, const std::vector<ModelOverride>& overrides,
                         const std::string& file = "command line");
ModelSpec with_overrides(const ModelSpec& model, const std::string& key, const std::string& value,
                         const std::string& file = "command line");
// Keys that may be overridden: those that the architecture asks for. Sorted.
std::vector<std::string> model_keys(const ModelSpec& model);

}  // namespace headway
