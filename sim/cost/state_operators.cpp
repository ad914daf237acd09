// Mixers with a state of constant size: N heads of a K x V matrix each. Decode reads the state,
// updates it and writes it back. Prefill goes through a prompt in chunks: products inside a chunk,
// and the state from one chunk to the next.
#include <algorithm>
#include <cmath>

#include "sim/cost/mixer_operators.h"

namespace headway {
namespace {

// FLOPs an element of the state and token: decay, add an outer product, read out; the delta rule
// reads what the key holds and subtracts it besides.
double update_flops(MixerKind kind) {
  if (kind == MixerKind::kMamba2) return 5;
  return kind == MixerKind::kGatedDeltaNet ? 7 : 4;
}

// Tokens of a chunk: 256 in Mamba-2's published configs, 64 in the kernels of delta rules and
// linear attention (flash-linear-attention).
double chunk_tokens(MixerKind kind) { return kind == MixerKind::kMamba2 ? 256 : 64; }

constexpr double kConvBytes = 2;  // weights and kept inputs of the convolution

void add_convolution(const RankOperators& ops, const StateSpec& s, OpClass op, double tokens,
                     double sequences, OperatorParts& parts) {
  if (s.conv_kernel == 0) return;
  const double W = static_cast<double>(s.value_width() + 2 * s.key_width());
  const double T = tokens, B = sequences, t = s.conv_kernel, h = hidden_bytes(ops.precision);
  Operator conv;
  conv.name = "convolution";
  conv.op = op;
  conv.flops = 2 * T * W * t;
  conv.weight_bytes = W * t * kConvBytes;
  conv.kv_bytes = 2 * B * W * (t - 1) * kConvBytes;
  conv.activation_bytes = 2 * T * W * h;
  conv.flops_formula = "2*T*W*t";
  conv.weight_formula = "W*t*e";
  conv.kv_formula = "2*B*W*(t - 1)*e";
  conv.activation_formula = "2*T*W*h";
  conv.variables = {{{"T", T}, {"B", B}, {"W", W}, {"t", t}, {"e", kConvBytes}, {"h", h}}};
  parts.add(conv);
}

// Pairs inside chunks (Y) times what each costs. Mamba-2: C B^T once a group, the rest a head. The
// delta rule: K K^T, its inverse on K and on V, Q K^T and its product with V; the inversion itself,
// a tenth of that, is left out.
struct ChunkFlops {
  double flops;
  const char* formula;
};
ChunkFlops chunked(MixerKind kind, const StateSpec& s, double T, double Y) {
  const double N = s.heads, G = s.groups, K = s.key_dim, V = s.value_dim;
  switch (kind) {
    case MixerKind::kMamba2:
      return {2 * G * K * Y + 2 * N * V * Y + 4 * N * K * V * T,
              "2*G*K*Y + 2*N*V*Y + 4*N*K*V*T"};
    case MixerKind::kGatedDeltaNet:
      return {N * (6 * K + 4 * V) * Y + 6 * N * K * V * T, "N*(6*K + 4*V)*Y + 6*N*K*V*T"};
    default:
      return {N * (2 * K + 2 * V) * Y + 4 * N * K * V * T, "N*(2*K + 2*V)*Y + 4*N*K*V*T"};
  }
}

}  // namespace

OperatorParts state_decode(const RankOperators& ops, const RankLayer& layer, double batch) {
  const MixerSpec& m = layer.spec.mixer;
  const StateSpec& s = m.state;
  const double B = batch, N = s.heads, K = s.key_dim, V = s.value_dim, e = s.element_bytes;
  const double f = update_flops(m.kind), h = hidden_bytes(ops.precision);
  const double W = static_cast<double>(2 * s.value_width() + 2 * s.key_width());
  OperatorParts parts;
  add_convolution(ops, s, OpClass::kDecodeAttention, B, B, parts);
  Operator update;
  update.name = "state_update";
  update.op = OpClass::kDecodeAttention;
  update.activations = update.weights = DType::kBf16;
  update.flops = f * B * N * K * V;
  update.kv_bytes = 2 * B * N * K * V * e;
  update.activation_bytes = B * W * h;
  update.flops_formula = "f*B*N*K*V";
  update.kv_formula = "2*B*N*K*V*e";
  update.activation_formula = "B*W*h";
  update.variables = {{{"f", f}, {"B", B}, {"N", N}, {"K", K}, {"V", V}, {"e", e}, {"W", W},
                       {"h", h}}};
  parts.add(update);
  return parts;
}

OperatorParts state_prefill(const RankOperators& ops, const RankLayer& layer,
                            const std::vector<PrefillChunk>& chunks) {
  const MixerSpec& m = layer.spec.mixer;
  const StateSpec& s = m.state;
  const double L = chunk_tokens(m.kind);
  double T = 0, Y = 0, M = 0;
  for (const PrefillChunk& chunk : chunks) {
    const double c = chunk.new_tokens;
    T += c;
    Y += c * std::min(c, L);
    M += std::ceil(c / L);
  }
  const double N = s.heads, K = s.key_dim, V = s.value_dim, e = s.element_bytes;
  const double W = static_cast<double>(2 * s.value_width() + 2 * s.key_width());
  OperatorParts parts;
  add_convolution(ops, s, OpClass::kPrefillAttention, T, static_cast<double>(chunks.size()), parts);
  const ChunkFlops work = chunked(m.kind, s, T, Y);
  const double h = hidden_bytes(ops.precision);
  Operator scan;
  scan.name = "chunked_scan";
  scan.op = OpClass::kPrefillAttention;
  scan.flops = work.flops;
  scan.kv_bytes = 2 * M * N * K * V * e;
  scan.activation_bytes = T * W * h;
  scan.flops_formula = work.formula;
  scan.kv_formula = "2*M*N*K*V*e";
  scan.activation_formula = "T*W*h";
  scan.variables = {{{"T", T}, {"Y", Y}, {"M", M}, {"N", N}, {"K", K}, {"V", V}, {"e", e}, {"W", W},
                     {"h", h}, {"G", double{1} * s.groups}}};
  parts.add(scan);
  return parts;
}

}  // namespace headway
