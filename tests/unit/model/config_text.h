#pragma once

#include <string>

#include "sim/core/errors.h"
#include "sim/model/hf_config.h"
#include "tests/support/catch.h"

namespace headway {

// A small transformer's config, with some keys added or replaced (JSON takes the last of two).
// `extra` begins with a comma.
inline std::string small_config(const std::string& type, const std::string& extra = "") {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 6, "hidden_size": 64,
    "intermediate_size": 128, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 8,
    "vocab_size": 1000, "max_position_embeddings": 512)" +
         extra + "}";
}

inline ModelSpec small_model(const std::string& type, const std::string& extra = "") {
  return parse_model(small_config(type, extra), "config.json");
}

inline InputError::Parts config_refusal(const std::string& text) {
  try {
    parse_model(text, "config.json");
  } catch (const InputError& e) {
    return e.parts();
  }
  FAIL("accepted: " << text);
  return {};
}

}  // namespace headway
