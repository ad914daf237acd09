// MLA (DeepSeek-V2, 2024): one latent of C elements and one rotated key of R a token serve all N
// heads. Decode works on the latent itself: the up-projection of keys is absorbed into the query,
// the one of values comes after attention ("absorbed"). Prefill expands keys and values of every
// token that it looks at, cached ones too, and attends as N-headed attention does. With a top k the
// chosen entries differ from query to query, so prefill is absorbed as well (DeepSeek-V3.2).
#include "sim/cost/mixer_operators.h"

namespace headway {
namespace {

struct Widths {
  double N, C, R, P, V;  // heads, latent, rotated, rest of a key, value
  double w, a, h, c;     // bytes an element: weight, product's input, hidden, cache

  Widths(const RankOperators& ops, const MixerSpec& m)
      : N(m.heads),
        C(m.kv_lora_rank),
        R(m.qk_rope_head_dim),
        P(m.head_dim - m.qk_rope_head_dim),
        V(m.v_head_dim),
        w(stored_weight_bytes(ops.precision)),
        a(bytes_per_element(ops.precision.activations)),
        h(hidden_bytes(ops.precision)),
        c(bytes_per_element(ops.precision.kv)) {}
};

// A product of the up-projection's halves, as a site so that precision is handled in one place.
Operator up_projection(const RankOperators& ops, const char* name, OpClass op, double n, double k,
                       double rows) {
  const GemmSite site{name, static_cast<std::int64_t>(n), static_cast<std::int64_t>(k)};
  Operator product = gemm_operator(site, rows, ops.precision);
  product.name = name;
  product.op = op;
  return product;
}

// Head by head [rows, k] x [k, n]: every head has its own rows.
Operator absorbed(const RankOperators& ops, const Widths& s, const char* name, OpClass op, double n,
                  double k, double rows) {
  Operator product = up_projection(ops, name, op, s.N * n, k, rows);
  product.activation_bytes = rows * s.N * (k + n) * s.h;
  product.activation_formula = "T*N*(k + m)*h";
  product.variables = {{{"T", rows}, {"n", s.N * n}, {"k", k}, {"w", s.w}, {"h", s.h}, {"N", s.N},
                        {"m", n}}};
  return product;
}

Operator over_latents(const Widths& s, OpClass op, double queries, double pairs, double entries) {
  Operator part;
  part.name = "attention";
  part.op = op;
  part.flops = 2 * s.N * (2 * s.C + s.R) * pairs;
  part.kv_bytes = (s.C + s.R) * entries * s.c;
  part.activation_bytes = queries * s.N * (2 * s.C + s.R) * s.h;
  part.flops_formula = "2*N*(2*C + R)*P";
  part.kv_formula = "(C + R)*E*c";
  part.activation_formula = "T*N*(2*C + R)*h";
  part.variables = {{{"T", queries}, {"N", s.N}, {"C", s.C}, {"R", s.R}, {"P", pairs},
                     {"E", entries}, {"c", s.c}, {"h", s.h}}};
  return part;
}

OperatorParts absorbed_attention(const RankOperators& ops, const Widths& s, OpClass op,
                                 double queries, double pairs, double entries,
                                 OperatorParts parts) {
  parts.add(absorbed(ops, s, "absorb_q", op, s.C, s.P, queries));
  parts.add(over_latents(s, op, queries, pairs, entries));
  parts.add(absorbed(ops, s, "absorb_v", op, s.V, s.C, queries));
  return parts;
}

}  // namespace

OperatorParts latent_decode(const RankOperators& ops, const RankLayer& layer, double batch,
                            double kv_tokens) {
  const MixerSpec& m = layer.spec.mixer;
  const Attended seen = attended_in_decode(m, batch, kv_tokens);
  OperatorParts parts;
  add_indexer(ops, m, OpClass::kDecodeAttention, batch, seen.entries, seen.entries, parts);
  return absorbed_attention(ops, Widths(ops, m), OpClass::kDecodeAttention, batch, seen.attended,
                            seen.attended, parts);
}

OperatorParts latent_prefill(const RankOperators& ops, const RankLayer& layer,
                             const std::vector<PrefillChunk>& chunks) {
  const MixerSpec& m = layer.spec.mixer;
  const PrefillTotals totals = prefill_totals(m, chunks);
  const OpClass op = OpClass::kPrefillAttention;
  const Widths s(ops, m);
  const double T = totals.new_tokens, P = totals.pairs, E = totals.entries;
  OperatorParts parts;
  add_indexer(ops, m, op, T, totals.scored_pairs, totals.scored, parts);
  if (m.sparse.top_k > 0) return absorbed_attention(ops, s, op, T, P, E, parts);

  Operator expand = up_projection(ops, "kv_b", op, s.N * (s.P + s.V), s.C, E);
  expand.kv_bytes = totals.context * (s.C + s.R) * s.c;
  expand.kv_formula = "X*(C + R)*c";
  expand.variables = {{{"T", E}, {"n", s.N * (s.P + s.V)}, {"k", s.C}, {"w", s.w}, {"a", s.a},
                       {"h", s.h}, {"X", totals.context}, {"C", s.C}, {"R", s.R}, {"c", s.c}}};
  parts.add(expand);

  const double H = s.P + s.R;
  Operator attention;
  attention.name = "attention";
  attention.op = op;
  attention.flops = 2 * s.N * (H + s.V) * P;
  attention.activation_bytes = (T + E) * s.N * (H + s.V) * s.h;
  attention.flops_formula = "2*N*(H + V)*P";
  attention.activation_formula = "(T + E)*N*(H + V)*h";
  attention.variables = {{{"T", T}, {"E", E}, {"N", s.N}, {"H", H}, {"V", s.V}, {"P", P},
                          {"h", s.h}}};
  parts.add(attention);
  return parts;
}

}  // namespace headway
