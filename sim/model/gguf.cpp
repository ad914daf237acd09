#include "sim/model/gguf.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/model/gguf_reader.h"

namespace headway {
namespace {

using Json = nlohmann::json;

struct Family {
  const char* architecture;  // general.architecture, as llama.cpp writes it
  const char* model_type;
};
constexpr std::array kFamilies{
    Family{"llama", "llama"},        Family{"qwen2", "qwen2"},
    Family{"qwen2moe", "qwen2_moe"}, Family{"qwen3", "qwen3"},
    Family{"qwen3moe", "qwen3_moe"}, Family{"qwen3next", "qwen3_next"},
    Family{"gemma2", "gemma2"},      Family{"gemma3", "gemma3_text"},
    Family{"gpt-oss", "gpt_oss"},    Family{"deepseek2", "deepseek_v2"},
    Family{"mamba2", "mamba2"},      Family{"nemotron", "nemotron"},
    Family{"llada", "llada"},        Family{"dream", "Dream"},
};

// ARCHITECTURE.<theirs> is <ours>, when it is there.
struct Key {
  const char* theirs;
  const char* ours;
};
constexpr std::array kKeys{
    Key{"block_count", "num_hidden_layers"},
    Key{"embedding_length", "hidden_size"},
    Key{"feed_forward_length", "intermediate_size"},
    Key{"context_length", "max_position_embeddings"},
    Key{"attention.head_count", "num_attention_heads"},
    Key{"attention.head_count_kv", "num_key_value_heads"},
    Key{"attention.key_length", "head_dim"},
    Key{"attention.sliding_window", "sliding_window"},
    Key{"attention.q_lora_rank", "q_lora_rank"},
    Key{"attention.kv_lora_rank", "kv_lora_rank"},
    Key{"expert_count", "num_experts"},
    Key{"expert_used_count", "num_experts_per_tok"},
    Key{"expert_feed_forward_length", "moe_intermediate_size"},
    Key{"expert_shared_count", "n_shared_experts"},
    Key{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    Key{"leading_dense_block_count", "first_k_dense_replace"},
};

class Translator {
 public:
  Translator(const GgufHeader& header, const std::string& file) : h_(header), file_(file) {}

  std::string run() {
    const auto found = h_.texts.find("general.architecture");
    if (found == h_.texts.end()) fail("general.architecture", "nothing", one_of("", families()));
    architecture_ = found->second;
    const auto family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& row) {
      return architecture_ == row.architecture;
    });
    if (family == kFamilies.end()) {
      fail("general.architecture", "\"" + architecture_ + "\"", one_of(architecture_, families()));
    }
    config_["model_type"] = family->model_type;
    for (const Key& key : kKeys) take(key.theirs, key.ours);
    if (const auto name = h_.texts.find("general.name"); name != h_.texts.end()) {
      config_["_name_or_path"] = name->second;
    }
    take_tensors();
    if (config_.contains("kv_lora_rank")) take_latent();
    if (architecture_ == "mamba2") take_mamba();
    if (architecture_ == "qwen3next") take_delta_net();
    take_format();
    return config_.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& found,
                         const std::string& expected) const {
    throw InputError({file_, key, found, expected});
  }

  static std::vector<std::string> families() {
    std::vector<std::string> names;
    for (const Family& row : kFamilies) names.emplace_back(row.architecture);
    return names;
  }

  bool has(const std::string& theirs) const {
    const std::string key = architecture_ + "." + theirs;
    return h_.integers.contains(key) || h_.list_sizes.contains(key);
  }

  // A number, or a list of the same number for every layer.
  std::int64_t figure(const std::string& theirs) const {
    const std::string key = architecture_ + "." + theirs;
    if (const auto it = h_.integers.find(key); it != h_.integers.end()) return it->second;
    const auto list = h_.lists.find(key);
    if (list == h_.lists.end() || list->second.empty()) {
      fail(key, "nothing", "a whole number");
    }
    for (const std::int64_t entry : list->second) {
      if (entry != list->second.front()) {
        fail(key,
             "layers of " + std::to_string(list->second.front()) + " and " + std::to_string(entry),
             "the same figure in every layer; give the config.json of such a model");
      }
    }
    return list->second.front();
  }

  void take(const char* theirs, const char* ours) {
    if (has(theirs)) config_[ours] = figure(theirs);
  }

  bool tensor(const std::string& name) const { return h_.tensors.contains(name); }
  bool tensor_ends(const std::string& end) const {
    return std::any_of(h_.tensors.begin(), h_.tensors.end(),
                       [&](const auto& entry) { return entry.first.ends_with(end); });
  }

  void take_tensors() {
    const auto embedding = h_.tensors.find("token_embd.weight");
    const auto tokens = h_.list_sizes.find("tokenizer.ggml.tokens");
    if (embedding != h_.tensors.end() && embedding->second.size() == 2) {
      config_["vocab_size"] = embedding->second[1];
    } else if (has("vocab_size")) {
      config_["vocab_size"] = figure("vocab_size");
    } else if (tokens != h_.list_sizes.end()) {
      config_["vocab_size"] = tokens->second;
    }
    if (h_.tensors.empty()) return;  // the head of a file, cut off before them
    config_["tie_word_embeddings"] = !tensor("output.weight");
    if (tensor_ends(".attn_q.bias")) config_["qkv_bias"] = true;
    if (tensor_ends(".attn_output.bias")) config_["attention_bias"] = true;
    if (tensor_ends(".exp_probs_b.bias") || tensor_ends(".ffn_gate_inp.bias")) {
      config_["router_bias"] = true;
    }
  }

  // Lately the lengths are those of the absorbed form, and the _mla ones what they used to be.
  void take_latent() {
    const std::int64_t rope = figure("rope.dimension_count");
    const bool absorbed = has("attention.key_length_mla");
    config_["qk_rope_head_dim"] = rope;
    config_["qk_nope_head_dim"] =
        figure(absorbed ? "attention.key_length_mla" : "attention.key_length") - rope;
    config_["v_head_dim"] =
        figure(absorbed ? "attention.value_length_mla" : "attention.value_length");
    config_.erase("head_dim");
    config_.erase("num_key_value_heads");
  }

  void take_mamba() {
    const std::int64_t inner = figure("ssm.inner_size"), heads = figure("ssm.time_step_rank");
    const std::int64_t hidden = figure("embedding_length");
    if (hidden < 1 || heads < 1 || inner < 1 || inner % hidden != 0 || inner % heads != 0) {
      fail(architecture_ + ".ssm.inner_size", std::to_string(inner),
           "a multiple of embedding_length (" + std::to_string(hidden) +
               ") and of ssm.time_step_rank (" + std::to_string(heads) + ")");
    }
    config_["expand"] = inner / hidden;
    config_["head_dim"] = inner / heads;
    config_["state_size"] = figure("ssm.state_size");
    config_["conv_kernel"] = figure("ssm.conv_kernel");
    config_["n_groups"] = figure("ssm.group_count");
    for (const char* key : {"num_attention_heads", "num_key_value_heads", "intermediate_size",
                            "max_position_embeddings"}) {
      config_.erase(key);
    }
  }

  void take_delta_net() {
    const std::int64_t inner = figure("ssm.inner_size"), heads = figure("ssm.time_step_rank");
    if (heads < 1 || inner % heads != 0) {
      fail(architecture_ + ".ssm.inner_size", std::to_string(inner),
           "a multiple of ssm.time_step_rank");
    }
    config_["linear_num_value_heads"] = heads;
    config_["linear_value_head_dim"] = inner / heads;
    config_["linear_num_key_heads"] = figure("ssm.group_count");
    config_["linear_key_head_dim"] = figure("ssm.state_size");
    config_["linear_conv_kernel_dim"] = figure("ssm.conv_kernel");
  }

  // general.file_type: 0 is fp32, 1 fp16, 32 bf16; all others are quantised.
  void take_format() {
    const auto type = h_.integers.find("general.file_type");
    if (type == h_.integers.end() || type->second == 0 || type->second == 1 || type->second == 32) {
      return;
    }
    config_["quantization_config"] = {{"quant_method", "gguf"}};
  }

  const GgufHeader& h_;
  const std::string& file_;
  std::string architecture_;
  Json config_ = Json::object();
};

}  // namespace

std::string gguf_to_config(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError({path, "", "a file that cannot be opened", "a GGUF file"});
  const GgufHeader header = read_gguf_header(stream, path);
  return Translator(header, path).run();
}

}  // namespace headway
