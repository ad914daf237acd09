#include "sim/model/model_words.h"

#include <utility>
#include <vector>

namespace headway {
namespace {

std::string num(std::int64_t value) { return std::to_string(value); }

std::string attention(const MixerSpec& m) {
  std::string text;
  if (m.kind == MixerKind::kLatentAttention) {
    text = "MLA " + num(m.heads) + ", " + num(m.kv_lora_rank) + " + " + num(m.qk_rope_head_dim);
  } else {
    text = m.kv_heads == m.heads ? "MHA " + num(m.heads)
           : m.kv_heads == 1     ? "MQA " + num(m.heads)
                                 : "GQA " + num(m.heads) + "/" + num(m.kv_heads);
    text += " x " + num(m.head_dim);
  }
  if (m.sparse.compression > 1) text += " " + num(m.sparse.compression) + ":1";
  if (m.sparse.top_k > 0) text += " top " + num(m.sparse.top_k);
  if (m.window > 0) text += " window " + num(m.window);
  if (m.shares_kv) text += " of another layer's cache";
  return text;
}

std::string state(const char* name, const StateSpec& s) {
  return std::string(name) + " " + num(s.heads) + " x " + num(s.key_dim) + " x " + num(s.value_dim);
}

std::string mixer(const MixerSpec& m) {
  switch (m.kind) {
    case MixerKind::kAttention:
    case MixerKind::kLatentAttention:
      return attention(m);
    case MixerKind::kMamba2:
      return state("Mamba-2", m.state);
    case MixerKind::kGatedDeltaNet:
      return state("Gated DeltaNet", m.state);
    case MixerKind::kLinearAttention:
      return state("linear attention", m.state);
    case MixerKind::kNone:
      break;
  }
  return "no mixer";
}

std::string mlp(const MlpSpec& m) {
  switch (m.kind) {
    case MlpKind::kDense:
      return num(m.intermediate);
    case MlpKind::kMoe:
      return num(m.experts_per_tok) + " of " + num(m.experts) + " x " + num(m.expert_intermediate) +
             (m.shared_intermediate > 0 ? " + " + num(m.shared_intermediate) + " shared" : "");
    case MlpKind::kNone:
      break;
  }
  return "no MLP";
}

// Alike words are added up; a single kind needs no number.
std::string counted(const std::vector<std::pair<std::string, std::int32_t>>& words) {
  std::vector<std::pair<std::string, std::int32_t>> kinds;
  for (const auto& [word, count] : words) {
    bool known = false;
    for (auto& kind : kinds) {
      if (kind.first != word) continue;
      kind.second += count;
      known = true;
    }
    if (!known) kinds.emplace_back(word, count);
  }
  if (kinds.size() == 1) return kinds.front().first;
  std::string text;
  for (const auto& [word, count] : kinds) {
    text += (text.empty() ? "" : "; ") + num(count) + " " + word;
  }
  return text;
}

}  // namespace

std::string mixer_words(const ModelSpec& model) {
  std::vector<std::pair<std::string, std::int32_t>> words;
  for (const LayerKind& kind : layer_kinds(model)) {
    words.emplace_back(mixer(kind.layer.mixer), kind.count);
  }
  return counted(words);
}

std::string mlp_words(const ModelSpec& model) {
  std::vector<std::pair<std::string, std::int32_t>> words;
  for (const LayerKind& kind : layer_kinds(model)) {
    words.emplace_back(mlp(kind.layer.mlp), kind.count);
  }
  return counted(words);
}

}  // namespace headway
