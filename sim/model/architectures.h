#pragma once

#include <string>
#include <vector>

#include "sim/model/config_reader.h"
#include "sim/model/model_spec.h"

namespace headway {

// A kind of config.json: a leaf. A new one is a row of architectures.cpp and, where its layers are
// unlike all others, a function.
struct Architecture {
  const char* model_type;
  const char* class_name;  // in `architectures`, when model_type is missing
  // Fills layers and generation; what is common to all was read before.
  void (*read)(const ConfigReader& config, ModelSpec& model);
  // What the transformers library takes for keys that a file leaves out, where that is neither
  // nothing nor what config_attention.h and config_mlp.h say. Files leave out what is default.
  const char* defaults;
  const char* renames;  // other spellings: {"n_layers": "num_hidden_layers"}
};

const std::vector<Architecture>& architectures();

// Readers, one a family.
void read_transformer(const ConfigReader& config, ModelSpec& model);  // Llama, Mistral, Qwen, ...
void read_gemma(const ConfigReader& config, ModelSpec& model);        // four norms a layer
void read_nemotron(const ConfigReader& config, ModelSpec& model);     // two matrices, LayerNorm
void read_gpt_oss(const ConfigReader& config, ModelSpec& model);
void read_deepseek(const ConfigReader& config, ModelSpec& model);  // V2, V3, V3.2
void read_deepseek_v4(const ConfigReader& config, ModelSpec& model);
void read_qwen3_next(const ConfigReader& config, ModelSpec& model);  // Gated DeltaNet
void read_mamba2(const ConfigReader& config, ModelSpec& model);
void read_mamba_hybrid(const ConfigReader& config, ModelSpec& model);  // Bamba, Granite 4
void read_nemotron_h(const ConfigReader& config, ModelSpec& model);
void read_diffusion(const ConfigReader& config, ModelSpec& model);  // LLaDA, Dream

}  // namespace headway
