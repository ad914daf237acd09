#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/engine/cpu_backend.h"
#include "kernels/engine/engine.h"
#include "sim/cluster/build.h"
#include "sim/core/errors.h"
#include "sim/model/hf_config.h"
#include "sim/scenario/parse.h"

namespace headway::kernels {

// A tiny Llama: 2 layers of 64, 4 heads of 16 on 2 KV heads, 128 tokens.
inline const char* kTinyModel = R"({"name": "tiny", "architectures": ["LlamaForCausalLM"],
  "num_hidden_layers": 3, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 128, "max_position_embeddings": 512,
  "tie_word_embeddings": false})";

inline ModelSpec tiny_model() { return parse_model(kTinyModel, "tiny"); }

// A scenario with the tiny model: engine and workload as the fragments say.
inline Scenario tiny_scenario(const std::string& engine, const std::string& workload,
                              const std::string& more = "") {
  std::string text = R"({"name": "tiny", "model": "toy-llama-12m", "gpu": "cpu", "engine": {
    "async_scheduling": false, "enforce_eager": true)";
  if (engine.find("max_model_len") == std::string::npos) text += R"(, "max_model_len": 512)";
  if (!engine.empty()) text += ", " + engine;
  text += R"(}, "workload": {)" + workload + "}" + (more.empty() ? "" : ", " + more) + "}";
  Scenario s = parse_scenario(text, "");
  s.model = tiny_model();
  return s;
}

// Time passes only when somebody says so.
class FakeClock final : public Clock {
 public:
  void start() override { now_ = SimTime(); }
  SimTime now() override { return now_; }
  SimTime cpu_time() override { return now_; }
  void wait_until(SimTime instant) override { now_ = std::max(now_, instant); }
  void pass(SimTime span) { now_ += span; }

 private:
  SimTime now_;
};

}  // namespace headway::kernels
