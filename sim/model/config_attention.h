#pragma once

#include <vector>

#include "sim/model/config_reader.h"
#include "sim/model/layer_spec.h"

namespace headway {

// Attention as the keys of a config tell it, for all families.

// num_attention_heads, num_key_value_heads (default: as many), head_dim (default: hidden_size /
// heads, which must be whole), attention_bias (queries, keys, values and output), qkv_bias,
// use_qk_norm. With kv_lora_rank it is latent attention: q_lora_rank, qk_nope_head_dim (default:
// head_dim), qk_rope_head_dim (64), v_head_dim (qk_nope_head_dim).
// index_n_heads, index_head_dim, index_topk: DeepSeek Sparse Attention. A key of ours:
// compress_ratio, tokens an entry of the cache.
MixerSpec read_attention(const ConfigReader& config);

// The window of each of so many layers, 0 = none. sliding_window (and use_sliding_window) says how
// wide; which layers have it say, in this order, layer_types (sliding_attention, full_attention),
// max_window_layers (those before are full), sliding_window_pattern (every n-th is full); else all.
// A window that never closes (max_position_embeddings) is none.
std::vector<std::int32_t> read_windows(const ConfigReader& config, std::int32_t layers);

// Which layers read the keys and values of one before them: cla_share_factor (the first of every n
// keeps a cache) or num_kv_shared_layers (the last n keep none).
std::vector<bool> read_sharing(const ConfigReader& config, std::int32_t layers);

// A list with an entry a layer; a longer one ends with what is no layer (multi-token prediction).
// InputError: a shorter one.
void check_layer_list(const ConfigReader& config, const char* key, std::size_t entries,
                      std::int32_t layers);

}  // namespace headway
