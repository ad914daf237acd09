#include <string>

#include "sim/model/architectures.h"
#include "sim/model/config_attention.h"
#include "sim/model/config_mlp.h"

namespace headway {
namespace {

struct Rates {
  std::int32_t csa = 4, hca = 128;
};

// The compression of a layer, 0 = window alone: compress_ratios as published, or layer_types as the
// library writes them; by default the first two layers HCA, then CSA and HCA in turn.
std::vector<std::int32_t> compression(const ConfigReader& c, std::int32_t layers) {
  const Rates rates{c.integer_or("compress_rate_csa", 4, kMostPositions, 2),
                    c.integer_or("compress_rate_hca", 128, kMostPositions, 2)};
  std::vector<std::int32_t> ratios = c.integers("compress_ratios", kMostPositions);
  const std::vector<std::string> types = c.texts("layer_types");
  const auto count = static_cast<std::size_t>(layers);
  if (!types.empty()) {
    check_layer_list(c, "layer_types", types.size(), layers);
    ratios.clear();
    for (const std::string& type : types) {
      if (type == "compressed_sparse_attention") {
        ratios.push_back(rates.csa);
      } else if (type == "heavily_compressed_attention") {
        ratios.push_back(rates.hca);
      } else if (type == "sliding_attention") {
        ratios.push_back(0);
      } else {
        c.fail("layer_types", "\"" + type + "\"",
               "sliding_attention, compressed_sparse_attention or heavily_compressed_attention");
      }
    }
  } else if (ratios.empty()) {
    for (std::size_t i = 0; i < count; ++i) {
      ratios.push_back(i < 2 || i % 2 == 0 ? rates.hca : rates.csa);
    }
  } else {
    check_layer_list(c, "compress_ratios", ratios.size(), layers);
  }
  ratios.resize(count);  // what follows is multi-token prediction
  return ratios;
}

}  // namespace

// Queries of many heads from a latent, one key a token that is its own value, outputs through a
// latent a group of heads. Every layer keeps a window; most keep compressed entries of the rest:
// few tokens an entry of which an indexer chooses (CSA), or many tokens an entry (HCA). Not
// counted: hyper-connections, and the table of the layers that route by token.
void read_deepseek_v4(const ConfigReader& c, ModelSpec& model) {
  const std::int32_t layers = c.integer("num_hidden_layers", kMostLayers);
  MixerSpec m;
  m.heads = c.integer("num_attention_heads", kMostHeads);
  m.kv_heads = c.integer("num_key_value_heads", 1);
  m.head_dim = m.v_head_dim = c.integer("head_dim", kWidestHead);
  m.values_are_keys = m.sinks = true;
  m.q_lora_rank = c.integer("q_lora_rank", kWidest);
  m.output_lora_rank = c.integer("o_lora_rank", kWidest);
  m.output_groups = c.integer("o_groups", m.heads);
  m.window = c.integer("sliding_window", kMostPositions);
  c.refuse("attention_bias", "false: biases of latent attention are not modelled");
  const std::vector<std::int32_t> ratios = compression(c, layers);
  const std::vector<MlpSpec> mlps = read_mlps(c, layers);
  const std::int32_t hash = c.integer_or("num_hash_layers", 3, kMostLayers, 0);
  // CSA is where the indexer is: the smaller of the rates in use.
  const std::int32_t csa = c.integer_or("compress_rate_csa", 4, kMostPositions, 2);
  for (std::size_t i = 0; i < mlps.size(); ++i) {
    LayerSpec layer{m, mlps[i], 2};
    SparseSpec& s = layer.mixer.sparse;
    if (ratios[i] > 1) s.compression = ratios[i];
    if (ratios[i] == csa) {
      s.overlapping = true;
      s.top_k = c.integer("index_topk", kMostPositions);
      s.index_heads = c.integer("index_n_heads", kMostHeads);
      s.index_head_dim = c.integer("index_head_dim", kWidestHead);
    }
    if (i < static_cast<std::size_t>(hash)) layer.mlp.router_bias = false;
    model.layers.push_back(layer);
  }
}

}  // namespace headway
