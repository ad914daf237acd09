#include "sim/model/architectures.h"

namespace headway {

// Defaults are those of the library's configuration classes (transformers 4.57), of keys that
// published files are known to leave out. Tied embeddings: the library's own default is true, most
// classes say false.
const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> table{
      {"llama", "LlamaForCausalLM", read_transformer, "{}", "{}"},
      {"mistral", "MistralForCausalLM", read_transformer, R"({"sliding_window": 4096})", "{}"},
      {"mixtral", "MixtralForCausalLM", read_transformer, "{}", "{}"},
      {"qwen2", "Qwen2ForCausalLM", read_transformer,
       R"({"qkv_bias": true, "use_sliding_window": false, "max_window_layers": 28})", "{}"},
      {"qwen2_moe", "Qwen2MoeForCausalLM", read_transformer,
       R"({"qkv_bias": true, "use_sliding_window": false, "max_window_layers": 28})", "{}"},
      {"qwen3", "Qwen3ForCausalLM", read_transformer,
       R"({"use_qk_norm": true, "use_sliding_window": false, "max_window_layers": 28,
           "head_dim": 128})",
       "{}"},
      {"qwen3_moe", "Qwen3MoeForCausalLM", read_transformer,
       R"({"use_qk_norm": true, "use_sliding_window": false, "max_window_layers": 28})", "{}"},
      {"qwen3_vl_text", "", read_transformer, R"({"use_qk_norm": true})", "{}"},
      {"qwen3_vl_moe_text", "", read_transformer, R"({"use_qk_norm": true})", "{}"},
      {"qwen3_next", "Qwen3NextForCausalLM", read_qwen3_next,
       R"({"use_qk_norm": true, "full_attention_interval": 4})", "{}"},
      {"gemma2", "Gemma2ForCausalLM", read_gemma,
       R"({"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 4096,
           "sliding_window_pattern": 2, "vocab_size": 256000, "max_position_embeddings": 8192})",
       "{}"},
      {"gemma3_text", "Gemma3ForCausalLM", read_gemma,
       R"({"tie_word_embeddings": true, "use_qk_norm": true, "head_dim": 256,
           "num_attention_heads": 8, "num_key_value_heads": 4, "sliding_window": 4096,
           "sliding_window_pattern": 6, "vocab_size": 262208,
           "max_position_embeddings": 131072})",
       R"({"_sliding_window_pattern": "sliding_window_pattern"})"},
      {"gpt_oss", "GptOssForCausalLM", read_gpt_oss,
       R"({"attention_bias": true, "head_dim": 64, "sliding_window": 128,
           "sliding_window_pattern": 2, "router_bias": true, "mlp_bias": true})",
       R"({"experts_per_token": "num_experts_per_tok"})"},
      {"nemotron", "NemotronForCausalLM", read_nemotron, "{}", "{}"},
      {"deepseek_v2", "DeepseekV2ForCausalLM", read_deepseek, "{}", "{}"},
      {"deepseek_v3", "DeepseekV3ForCausalLM", read_deepseek, R"({"router_bias": true})", "{}"},
      {"deepseek_v32", "DeepseekV32ForCausalLM", read_deepseek, R"({"router_bias": true})", "{}"},
      {"deepseek_v4", "DeepseekV4ForCausalLM", read_deepseek_v4, R"({"router_bias": true})", "{}"},
      {"kimi_k2", "", read_deepseek, R"({"router_bias": true})", "{}"},
      {"mamba2", "Mamba2ForCausalLM", read_mamba2,
       R"({"expand": 2, "n_groups": 8, "state_size": 128, "conv_kernel": 4, "head_dim": 64,
           "use_conv_bias": true, "max_position_embeddings": 1048576})",
       "{}"},
      // As its authors' own library (mamba-ssm) writes it.
      {"mamba_ssm", "MambaLMHeadModel", read_mamba2,
       R"({"expand": 2, "n_groups": 1, "state_size": 128, "conv_kernel": 4, "head_dim": 64,
           "use_conv_bias": true, "pad_vocab_size_multiple": 8, "tie_word_embeddings": true,
           "max_position_embeddings": 1048576})",
       R"({"d_model": "hidden_size", "n_layer": "num_hidden_layers",
           "tie_embeddings": "tie_word_embeddings", "ssm_cfg.layer": "ssm_layer",
           "ssm_cfg.d_state": "state_size", "ssm_cfg.headdim": "head_dim",
           "ssm_cfg.ngroups": "n_groups", "ssm_cfg.d_conv": "conv_kernel",
           "ssm_cfg.expand": "expand"})"},
      {"bamba", "BambaForCausalLM", read_mamba_hybrid, R"({"mamba_d_conv": 4})", "{}"},
      {"granitemoehybrid", "GraniteMoeHybridForCausalLM", read_mamba_hybrid,
       R"({"mamba_d_conv": 4, "tie_word_embeddings": true})", "{}"},
      {"nemotron_h", "NemotronHForCausalLM", read_nemotron_h, R"({"head_dim": 128})",
       R"({"attention_head_dim": "head_dim"})"},
      {"llada", "LLaDAModelLM", read_diffusion, R"({"block_length": 32, "refinement_steps": 32})",
       R"({"d_model": "hidden_size", "n_layers": "num_hidden_layers",
           "n_heads": "num_attention_heads", "n_kv_heads": "num_key_value_heads",
           "mlp_hidden_size": "intermediate_size", "max_sequence_length": "max_position_embeddings",
           "weight_tying": "tie_word_embeddings"})"},
      {"Dream", "DreamModel", read_diffusion,
       R"({"block_length": 32, "refinement_steps": 32, "qkv_bias": true,
           "use_sliding_window": false})",
       "{}"},
  };
  return table;
}

}  // namespace headway
