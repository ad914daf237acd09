#include "sim/model/pruning.h"

namespace headway {
namespace {

constexpr std::int64_t kLlama2_7b = 6738415616;
constexpr std::int64_t kLlama31_8b = 8030261248, kNemotron4_15b = 15628775424;

Pruning width(std::int32_t hidden, std::int32_t heads, std::int32_t kv_heads, std::int32_t mlp,
              std::int32_t layers = 0) {
  Pruning p;
  p.hidden_size = hidden;
  p.num_attention_heads = heads;
  p.num_key_value_heads = kv_heads;
  p.intermediate_size = mlp;
  p.num_hidden_layers = layers;
  return p;
}

Pruning depth(std::vector<std::int32_t> drop) {
  Pruning p;
  p.drop_layers = std::move(drop);
  return p;
}

constexpr const char* kMinitron = "https://arxiv.org/abs/2407.14679";
constexpr const char* kMinitronPractice = "https://arxiv.org/abs/2408.11796";
constexpr const char* kShortGpt = "https://arxiv.org/abs/2403.03853";
constexpr const char* kShearedSource = "https://arxiv.org/abs/2310.06694";

}  // namespace

const std::vector<PruningPreset>& pruning_presets() {
  static const std::vector<PruningPreset> table{
      {"llama-3.1-minitron-4b-width",
       "llama-3.1-8b",
       kLlama31_8b,
       width(3072, 0, 0, 9216),
       4.51e9,
       3,
       "https://huggingface.co/nvidia/Llama-3.1-Minitron-4B-Width-Base",
       {{"MMLU, 5-shot, after distillation", "60.5",
         "https://huggingface.co/nvidia/Llama-3.1-Minitron-4B-Width-Base"},
        {"mean speed-up over its teacher with TensorRT-LLM", "1.8", kMinitronPractice}}},
      // Which 16 of the layers went makes no difference to its shape: all are alike.
      {"llama-3.1-minitron-4b-depth",
       "llama-3.1-8b",
       kLlama31_8b,
       width(0, 0, 0, 0, 16),
       4.5e9,
       2,
       "https://huggingface.co/nvidia/Llama-3.1-Minitron-4B-Depth-Base",
       {{"mean speed-up over its teacher with TensorRT-LLM", "2.7", kMinitronPractice}}},
      {"minitron-8b",
       "nemotron-4-15b",
       kNemotron4_15b,
       width(4096, 0, 0, 16384),
       8e9,
       1,
       "https://huggingface.co/nvidia/Minitron-8B-Base",
       {{"MMLU, 5-shot, after distillation", "63.8", kMinitron}}},
      {"sheared-llama-1.3b",
       "llama-2-7b",
       kLlama2_7b,
       width(2048, 16, 16, 5504, 24),
       1.3e9,
       2,
       "https://huggingface.co/princeton-nlp/Sheared-LLaMA-1.3B",
       {{"tokens of pruning and further training", "50e9", kShearedSource}}},
      {"sheared-llama-2.7b",
       "llama-2-7b",
       kLlama2_7b,
       width(2560, 20, 20, 6912, 32),
       2.7e9,
       2,
       "https://huggingface.co/princeton-nlp/Sheared-LLaMA-2.7B",
       {{"tokens of pruning and further training", "50e9", kShearedSource}}},
      {"shortgpt-llama-2-7b",
       "llama-2-7b",
       kLlama2_7b,
       depth({21, 22, 23, 24, 25, 26, 27, 28, 29}),
       0,
       0,
       kShortGpt,
       {}},
  };
  return table;
}

}  // namespace headway
