#include "sim/model/config_attention.h"

#include <string>

#include "sim/core/errors.h"

namespace headway {
namespace {

void read_latent(const ConfigReader& c, MixerSpec& m) {
  c.refuse("attention_bias", "false: biases of latent attention are not modelled");
  m.kind = MixerKind::kLatentAttention;
  m.kv_lora_rank = c.integer("kv_lora_rank", kWidest);
  m.q_lora_rank = c.integer_or("q_lora_rank", 0, kWidest, 0);
  m.qk_rope_head_dim = c.integer_or("qk_rope_head_dim", 64, kWidestHead);
  const std::int32_t nope = c.integer_or("qk_nope_head_dim", m.head_dim, kWidestHead);
  m.head_dim = nope + m.qk_rope_head_dim;
  m.v_head_dim = c.integer_or("v_head_dim", nope, kWidestHead);
  m.kv_heads = m.heads;
  m.qkv_bias = m.output_bias = m.qk_norm = false;
}

void read_sparse(const ConfigReader& c, SparseSpec& s) {
  s.compression = c.integer_or("compress_ratio", 1, kMostPositions);
  s.top_k = c.integer_or("index_topk", 0, kMostPositions, 0);
  s.index_heads = s.top_k > 0 ? c.integer_or("index_n_heads", 0, kMostHeads, 0) : 0;
  s.index_head_dim = s.index_heads > 0 ? c.integer("index_head_dim", kWidestHead) : 0;
}

std::int32_t read_head_dim(const ConfigReader& c, std::int32_t heads) {
  if (c.present("head_dim")) return c.integer("head_dim", kWidestHead);
  const std::int32_t hidden = c.integer("hidden_size", kWidest);
  if (hidden % heads != 0) {
    c.fail("head_dim", "nothing", "a number, as num_attention_heads does not divide hidden_size");
  }
  return hidden / heads;
}

}  // namespace

MixerSpec read_attention(const ConfigReader& c) {
  MixerSpec m;
  m.heads = c.integer("num_attention_heads", kMostHeads);
  m.kv_heads = c.integer_or("num_key_value_heads", m.heads, kMostHeads);
  if (m.heads % m.kv_heads != 0) {
    c.fail("num_key_value_heads", std::to_string(m.kv_heads),
           "a divisor of num_attention_heads (" + std::to_string(m.heads) + ")");
  }
  const bool latent = c.given("kv_lora_rank");
  // Latent attention says its widths otherwise; some of its configs have a head_dim of the RoPE
  // part alone.
  const bool own_widths = latent && c.present("qk_nope_head_dim");
  m.head_dim = m.v_head_dim = own_widths ? 0 : read_head_dim(c, m.heads);
  m.output_bias = c.flag_or("attention_bias", false);
  m.qkv_bias = c.flag_or("qkv_bias", false) || m.output_bias;
  m.qk_norm = c.flag_or("use_qk_norm", false);
  read_sparse(c, m.sparse);
  if (latent) {
    read_latent(c, m);
  } else {
    const char* why = "no latent attention without kv_lora_rank";
    for (const char* key : {"q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"}) {
      if (c.given(key)) c.refuse(key, why);  // of use beside kv_lora_rank
    }
  }
  c.refuse("attention_chunk_size", "no chunked local attention, which is not modelled");
  return m;
}

void check_layer_list(const ConfigReader& c, const char* key, std::size_t entries,
                      std::int32_t layers) {
  if (entries >= static_cast<std::size_t>(layers)) return;
  c.fail(key, "a list of " + std::to_string(entries),
         "an entry for each of num_hidden_layers (" + std::to_string(layers) + ")");
}

std::vector<std::int32_t> read_windows(const ConfigReader& c, std::int32_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  std::vector<std::int32_t> windows(count, 0);
  const std::vector<std::string> types = c.texts("layer_types");
  if (!types.empty()) check_layer_list(c, "layer_types", types.size(), layers);
  std::int32_t width = c.integer_or("sliding_window", 0, kMostPositions, 0);
  if (!c.flag_or("use_sliding_window", true)) width = 0;
  const std::int32_t first = c.integer_or("max_window_layers", 0, kMostLayers, 0);
  const std::int32_t pattern = c.integer_or("sliding_window_pattern", 0, kMostLayers, 0);
  if (width >= c.integer("max_position_embeddings", kMostPositions)) width = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool windowed = width > 0;
    if (!types.empty()) {
      windowed = types[i] == "sliding_attention";
      if (!windowed && types[i] != "full_attention") {
        c.fail("layer_types", "\"" + types[i] + "\"", "full_attention or sliding_attention");
      }
      if (windowed && !c.present("sliding_window")) {
        c.fail("sliding_window", "nothing", "the window of layer_types' sliding_attention");
      }
    } else if (pattern > 0) {
      windowed = (i + 1) % static_cast<std::size_t>(pattern) != 0;
    } else {
      windowed = i >= static_cast<std::size_t>(first);
    }
    if (windowed) windows[i] = width;
  }
  return windows;
}

std::vector<bool> read_sharing(const ConfigReader& c, std::int32_t layers) {
  const auto count = static_cast<std::size_t>(layers);
  std::vector<bool> shares(count, false);
  const bool used = c.flag_or("use_cla", true);
  const auto group = static_cast<std::size_t>(c.integer_or("cla_share_factor", 1, kMostLayers));
  const auto last =
      static_cast<std::size_t>(c.integer_or("num_kv_shared_layers", 0, layers - 1, 0));
  for (std::size_t i = 0; i < count; ++i) {
    shares[i] = (used && i % group != 0) || i + last >= count;
  }
  return shares;
}

}  // namespace headway
