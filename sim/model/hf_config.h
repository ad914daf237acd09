#pragma once

#include <string>
#include <vector>

#include "sim/model/model_spec.h"

namespace headway {

// A catalogue name ("llama-3.1-8b"), a Hugging Face config.json, or the folder that holds one.
// Relative paths start at base_folder. InputError: no such model (placed at `file`: `place`, with
// the nearest name), or what parse_model says.
ModelSpec load_model(const std::string& name_or_path, const std::string& base_folder,
                     const std::string& file = "", const std::string& place = "model");

// The text of a config.json, as the transformers library writes it for the architectures listed in
// hf_config.cpp; catalogue files add `name`, `source` and `published_parameters`. Of a multi-modal
// model the nested text_config is read. head_dim is read where given and never assumed to be
// hidden_size / num_attention_heads; num_key_value_heads is the number of heads where left out.
// InputError names the key that is missing, wrong, or stands for an architecture that cannot be
// represented (MLA, sliding windows, state spaces, shared experts, quantised checkpoints ...).
ModelSpec parse_model(const std::string& text, const std::string& file);

// The model with one figure changed, for `--set model.KEY=VALUE`; KEY is a key of config.json and
// VALUE an integer, or true/false. What else follows from the changed figure stays as it was, but
// published_parameters is dropped.
ModelSpec with_overrides(ModelSpec model, const std::string& key, const std::string& value,
                         const std::string& file = "command line");
std::vector<std::string> model_keys();  // that may be overridden

}  // namespace headway
