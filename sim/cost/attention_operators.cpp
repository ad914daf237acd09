#include <algorithm>

#include "sim/cost/mixer_operators.h"

namespace headway {
namespace {

// Tokens that attention over the cache itself reaches: the window, and the entries of the top k.
// 0 = all. Of a compressed cache the window is beside it.
double reach(const MixerSpec& mixer) {
  const double window = mixer.sparse.compression > 1 ? 0 : mixer.window;
  const double chosen = double{1} * mixer.sparse.top_k * mixer.sparse.compression;
  if (window == 0 || chosen == 0) return std::max(window, chosen);
  return std::min(window, chosen);
}

// Tokens beside a compressed cache; 0 = none.
double beside(const MixerSpec& mixer) { return mixer.sparse.compression > 1 ? mixer.window : 0; }

// The smaller of what there is and a bound for every sequence.
double bounded(double tokens, double sequences, double bound) {
  return bound > 0 ? std::min(tokens, sequences * bound) : tokens;
}

}  // namespace

double causal_pairs(double new_tokens, double context_tokens, double window) {
  const double c = new_tokens, h = context_tokens;
  if (window <= 0 || h + c <= window) return c * h + c * (c + 1) / 2;
  // Query i (from 1) sees h + i keys, but not more than the window.
  const double below = std::clamp(window - h, 0.0, c);
  return below * h + below * (below + 1) / 2 + (c - below) * window;
}

Attended attended_in_decode(const MixerSpec& mixer, double batch, double kv_tokens) {
  const double m = mixer.sparse.compression, window = beside(mixer);
  const double sight = m > 1 ? 0 : mixer.window;
  Attended seen{bounded(kv_tokens, batch, sight) / m,
                bounded(kv_tokens, batch, reach(mixer)) / m};
  if (window > 0) seen.attended += bounded(kv_tokens, batch, window);
  return seen;
}

PrefillTotals prefill_totals(const MixerSpec& mixer, const std::vector<PrefillChunk>& chunks) {
  const double m = mixer.sparse.compression, window = beside(mixer);
  const double sight = m > 1 ? 0 : mixer.window;
  PrefillTotals totals;
  for (const PrefillChunk& chunk : chunks) {
    const double c = chunk.new_tokens, h = chunk.context_tokens;
    const double seen = sight > 0 ? std::min(h, sight - 1) : h;
    totals.sequences += 1;
    totals.new_tokens += c;
    totals.context += seen / m;
    totals.pairs += causal_pairs(c, h, reach(mixer)) / m;
    totals.scored_pairs += causal_pairs(c, h, sight) / m;
    totals.scored += (seen + c) / m;
    totals.entries += (seen + c) / m;
    if (window == 0) continue;
    totals.pairs += causal_pairs(c, h, window);
    totals.entries += std::min(h, window - 1) + c;
  }
  return totals;
}

void add_indexer(const RankOperators& ops, const MixerSpec& mixer, OpClass op, double queries,
                 double pairs, double entries, OperatorParts& parts) {
  const SparseSpec& s = mixer.sparse;
  if (s.index_heads == 0) return;
  const double N = s.index_heads, H = s.index_head_dim, c = s.index_bytes;
  const double h = hidden_bytes(ops.precision);
  Operator part;
  part.name = "index";
  part.op = op;
  part.flops = 2 * N * H * pairs;
  part.kv_bytes = entries * H * c;
  part.activation_bytes = queries * N * H * h + 8 * pairs;  // fp32 scores, written and chosen from
  part.flops_formula = "2*N*H*P";
  part.kv_formula = "E*H*c";
  part.activation_formula = "T*N*H*h + 8*P";
  part.variables = {{{"N", N}, {"H", H}, {"P", pairs}, {"E", entries}, {"c", c}, {"T", queries},
                     {"h", h}}};
  parts.add(part);
}

OperatorParts attention_decode(const RankOperators& ops, const RankLayer& layer, double batch,
                               double kv_tokens) {
  const MixerSpec& m = layer.spec.mixer;
  const double B = batch, N = m.heads, K = m.kv_heads, H = m.head_dim, V = m.v_head_dim;
  const double W = kept_width(m);
  const double c = bytes_per_element(ops.precision.kv), h = hidden_bytes(ops.precision);
  const Attended seen = attended_in_decode(m, batch, kv_tokens);
  const double S = seen.attended;
  OperatorParts parts;
  add_indexer(ops, m, OpClass::kDecodeAttention, B, seen.entries, seen.entries, parts);
  Operator op;
  op.name = "attention";
  op.op = OpClass::kDecodeAttention;
  op.flops = 2 * N * (H + V) * S;
  op.kv_bytes = K * W * S * c;
  op.activation_bytes = B * N * (H + V) * h;
  op.flops_formula = "2*N*(H + V)*S";
  op.kv_formula = "K*W*S*c";
  op.activation_formula = "B*N*(H + V)*h";
  op.variables = {{{"B", B}, {"N", N}, {"K", K}, {"H", H}, {"V", V}, {"S", S}, {"W", W},
                   {"c", c}, {"h", h}}};
  parts.add(op);
  return parts;
}

OperatorParts attention_prefill(const RankOperators& ops, const RankLayer& layer,
                                const std::vector<PrefillChunk>& chunks) {
  const MixerSpec& m = layer.spec.mixer;
  const double N = m.heads, K = m.kv_heads, H = m.head_dim, V = m.v_head_dim, W = kept_width(m);
  const double c = bytes_per_element(ops.precision.kv), h = hidden_bytes(ops.precision);
  const PrefillTotals totals = prefill_totals(m, chunks);
  const double T = totals.new_tokens, P = totals.pairs, E = totals.entries;
  OperatorParts parts;
  add_indexer(ops, m, OpClass::kPrefillAttention, T, totals.scored_pairs, totals.scored, parts);
  Operator op;
  op.name = "attention";
  op.op = OpClass::kPrefillAttention;
  op.flops = 2 * N * (H + V) * P;
  op.kv_bytes = K * W * E * c;
  op.activation_bytes = T * N * (H + V) * h;
  op.flops_formula = "2*N*(H + V)*P";
  op.kv_formula = "K*W*E*c";
  op.activation_formula = "T*N*(H + V)*h";
  op.variables = {{{"T", T}, {"N", N}, {"K", K}, {"H", H}, {"V", V}, {"P", P}, {"E", E}, {"W", W},
                   {"c", c}, {"h", h}}};
  parts.add(op);
  return parts;
}

std::vector<double> decode_bends(const RankLayer& layer) {
  const MixerSpec& mixer = layer.spec.mixer;
  std::vector<double> bends;
  if (!mixer.is_attention()) return bends;
  if (mixer.window > 0) bends.push_back(mixer.window);
  const double chosen = reach(mixer);
  if (chosen > 0 && chosen != mixer.window) bends.push_back(chosen);
  std::sort(bends.begin(), bends.end());
  return bends;
}

OperatorParts decode_operators(const RankOperators& ops, const RankLayer& layer, double batch,
                               double kv_tokens) {
  const MixerKind kind = layer.spec.mixer.kind;
  if (batch <= 0 || kind == MixerKind::kNone) return {};
  if (kind == MixerKind::kAttention) return attention_decode(ops, layer, batch, kv_tokens);
  if (kind == MixerKind::kLatentAttention) return latent_decode(ops, layer, batch, kv_tokens);
  return state_decode(ops, layer, batch);
}

OperatorParts prefill_operators(const RankOperators& ops, const RankLayer& layer,
                                const std::vector<PrefillChunk>& chunks) {
  const MixerKind kind = layer.spec.mixer.kind;
  if (chunks.empty() || kind == MixerKind::kNone) return {};
  if (kind == MixerKind::kAttention) return attention_prefill(ops, layer, chunks);
  if (kind == MixerKind::kLatentAttention) return latent_prefill(ops, layer, chunks);
  return state_prefill(ops, layer, chunks);
}

}  // namespace headway
