#include <algorithm>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/core/sim_time.h"
#include "sim/cost/mixer_operators.h"
#include "sim/cost/operator_work.h"

namespace headway {
namespace {

// Weight-only formats are widened in registers by every tile of rows anew: 64 rows a tile and about
// two instructions an element, of which the data sheet's fp32 figure counts two operations each, as
// in Marlin (Frantar et al., 2024). The instructions go through the issue slots that feed the
// tensor cores, so they add to the compute time; small batches hide them behind the loads.
constexpr double kRowsPerTile = 64, kOperationsPerWidened = 4;

bool quantised(DType dtype) { return bytes_per_element(dtype) < 2; }

void set_operands(Operator& op, const Precision& precision) {
  op.weights = precision.weights;
  op.activations = precision.activations;
  if (quantised(op.weights)) op.kept_share = precision.kept_fraction;
}

double tiles(double rows) { return std::ceil(rows / kRowsPerTile); }

Operator streaming(const char* name, const char* formula, double activation_bytes) {
  Operator op;
  op.name = name;
  op.op = OpClass::kElementwise;
  op.activation_bytes = activation_bytes;
  op.activation_formula = formula;
  return op;
}

// Of attention: keys and values that this layer makes itself.
void add_attention_streams(const RankOperators& ops, const MixerSpec& m, double T,
                           OperatorParts& parts) {
  const double N = m.heads, H = m.head_dim, V = m.v_head_dim, K = m.shares_kv ? 0 : m.kv_heads;
  const double h = hidden_bytes(ops.precision), c = bytes_per_element(ops.precision.kv);
  const double passes = m.qk_norm ? 4 : 2;  // read and written in place, by the norm and by RoPE
  Operator rope = streaming("rope", "r*T*(N + K)*H*h", passes * T * (N + K) * H * h);
  rope.variables = {{{"r", passes}, {"T", T}, {"N", N}, {"K", K}, {"H", H}, {"h", h}}};
  parts.add(rope);
  if (!m.shares_kv) {
    // Entries, compressed or not; of a compressed cache the tokens of the window beside it too.
    const double each = m.sparse.compression, W = kept_width(m);
    const double r = 1 / each + (each > 1 && m.window > 0 ? 1 : 0);
    const double X = m.sparse.index_heads > 0
                         ? m.sparse.index_head_dim * m.sparse.index_bytes / each : 0;
    Operator write = streaming("kv_write", "T*K*W*h", T * K * W * h);
    write.kv_bytes = T * (K * W * c * r + X);
    write.kv_formula = "T*(K*W*c*r + X)";
    write.variables = {{{"T", T}, {"K", K}, {"W", W}, {"h", h}, {"c", c}, {"r", r}, {"X", X}}};
    parts.add(write);
  }
  if (m.q_lora_rank > 0) {
    const double Q = m.q_lora_rank;
    Operator norm = streaming("latent_norms", "2*T*Q*h", 2 * T * Q * h);
    norm.variables = {{{"T", T}, {"Q", Q}, {"h", h}}};
    parts.add(norm);
  }
  if (m.output_gate) {
    Operator gate = streaming("output_gate", "3*T*N*V*h", 3 * T * N * V * h);
    gate.variables = {{{"T", T}, {"N", N}, {"V", V}, {"h", h}}};
    parts.add(gate);
  }
}

void add_latent_streams(const RankOperators& ops, const MixerSpec& m, double T,
                        OperatorParts& parts) {
  const double N = m.heads, C = m.kv_lora_rank, Q = m.q_lora_rank, R = m.qk_rope_head_dim;
  const double h = hidden_bytes(ops.precision), c = bytes_per_element(ops.precision.kv);
  const double X = m.sparse.index_heads > 0
                       ? double{1} * m.sparse.index_head_dim * m.sparse.index_bytes : 0;
  Operator norms = streaming("latent_norms", "2*T*(Q + C)*h", 2 * T * (Q + C) * h);
  norms.variables = {{{"T", T}, {"Q", Q}, {"C", C}, {"h", h}}};
  parts.add(norms);
  Operator rope = streaming("rope", "2*T*(N + 1)*R*h", 2 * T * (N + 1) * R * h);
  rope.variables = {{{"T", T}, {"N", N}, {"R", R}, {"h", h}}};
  parts.add(rope);
  if (m.shares_kv) return;
  Operator write = streaming("kv_write", "T*(C + R)*h", T * (C + R) * h);
  write.kv_bytes = T * ((C + R) * c + X);
  write.kv_formula = "T*((C + R)*c + X)";
  write.variables = {{{"T", T}, {"C", C}, {"R", R}, {"h", h}, {"c", c}, {"X", X}}};
  parts.add(write);
}

}  // namespace

Operator gemm_operator(const GemmSite& site, double tokens, const Precision& precision) {
  const Precision own = gemm_precision(site, precision);
  const double T = tokens, n = static_cast<double>(site.n), k = static_cast<double>(site.k);
  const double w = stored_weight_bytes(own), a = bytes_per_element(own.activations);
  const double h = hidden_bytes(precision);
  Operator op;
  op.name = site.name.c_str();
  op.op = OpClass::kLinear;
  set_operands(op, own);
  op.flops = 2 * T * n * k;
  op.weight_bytes = n * k * w;
  op.activation_bytes = T * k * a + T * n * h;
  op.flops_formula = "2*T*n*k";
  op.weight_formula = "n*k*w";
  op.activation_formula = "T*k*a + T*n*h";
  op.variables = {{{"T", T}, {"n", n}, {"k", k}, {"w", w}, {"a", a}, {"h", h}}};
  if (quantised(own.weights)) op.widened = n * k * tiles(T);
  return op;
}

Operator experts_operator(const RankOperators& ops, const RankLayer& layer, double tokens) {
  SIM_CHECK(layer.is_moe());
  const ExpertWidths widths = expert_widths(ops, layer);
  const double X = experts_hit(widths, tokens), R = expert_rows(widths, tokens);
  const double D = widths.hidden, F = widths.ffn, M = widths.matrices;
  const double w = stored_weight_bytes(ops.precision), h = hidden_bytes(ops.precision);
  const double a = bytes_per_element(ops.precision.activations);
  Operator op;
  op.name = "experts";
  op.op = OpClass::kLinear;
  set_operands(op, ops.precision);
  op.flops = 2 * M * R * D * F;
  op.weight_bytes = X * M * D * F * w;
  op.activation_bytes = R * (D * a + M * F * h + D * h);
  op.flops_formula = "2*M*R*D*F";
  op.weight_formula = "X*M*D*F*w";
  op.activation_formula = "R*(D*a + M*F*h + D*h)";
  op.variables = {{{"R", R}, {"X", X}, {"M", M}, {"D", D}, {"F", F}, {"w", w},
                   {"a", a}, {"h", h}}};
  if (quantised(ops.precision.weights) && X > 0) op.widened = X * M * D * F * tiles(R / X);
  return op;
}

OperatorParts elementwise_operators(const RankOperators& ops, const RankLayer& layer,
                                    double tokens) {
  const double T = tokens, D = static_cast<double>(ops.hidden), h = hidden_bytes(ops.precision);
  const double norms = layer.spec.norms;
  OperatorParts parts;
  Operator norm = streaming("norms", "4*q*T*D*h", 4 * norms * T * D * h);
  norm.variables = {{{"q", norms}, {"T", T}, {"D", D}, {"h", h}}};
  parts.add(norm);  // each reads and writes x and the residual
  const MixerSpec& mixer = layer.spec.mixer;
  if (mixer.kind == MixerKind::kAttention) add_attention_streams(ops, mixer, T, parts);
  if (mixer.kind == MixerKind::kLatentAttention) add_latent_streams(ops, mixer, T, parts);
  if (mixer.kind == MixerKind::kMamba2 || mixer.kind == MixerKind::kGatedDeltaNet) {
    const double V = static_cast<double>(mixer.state.value_width());
    Operator gated = streaming("gated_norm", "3*T*V*h", 3 * T * V * h);
    gated.variables = {{{"T", T}, {"V", V}, {"h", h}}};
    parts.add(gated);
  }
  const MlpSpec& mlp = layer.spec.mlp;  // the experts' activation is in their own rows
  const double F = (mlp.kind == MlpKind::kDense ? mlp.intermediate : 0) + mlp.shared_intermediate;
  if (mlp.kind != MlpKind::kNone && F > 0) {
    const double g = mlp.gated ? 3 : 2;  // gate and up in, their product out
    Operator activation = streaming("activation", "g*T*F*h", g * T * F * h);
    activation.variables = {{{"g", g}, {"T", T}, {"F", F}, {"h", h}}};
    parts.add(activation);
  }
  return parts;
}

double elementwise_bytes(const RankOperators& ops, const RankLayer& layer, double tokens) {
  double bytes = 0;
  for (const Operator& part : elementwise_operators(ops, layer, tokens)) bytes += part.bytes();
  return bytes;
}

int elementwise_kernels(const RankLayer& layer) {
  const MixerSpec& mixer = layer.spec.mixer;
  int kernels = layer.spec.norms;
  if (mixer.is_attention()) kernels += 1;
  if (mixer.kind == MixerKind::kLatentAttention || mixer.output_gate) kernels += 1;
  if (mixer.is_state() && mixer.kind != MixerKind::kLinearAttention) kernels += 1;
  if (layer.spec.mlp.kind != MlpKind::kNone) kernels += 1;
  return kernels;
}

double step_kernels(const RankOperators& ops) {
  constexpr int kEnds = 3;  // embedding, final norm, LM head
  double kernels = kEnds + ops.pipeline_parallel - 1;
  if (ops.tensor_parallel > 1) kernels += ops.all_reduces();
  for (const RankLayer& layer : ops.kinds) {
    const double one = static_cast<double>(layer.gemms.size()) + (layer.is_moe() ? 2 : 0) +
                       static_cast<double>(decode_operators(ops, layer, 1, 1).size());
    kernels += layer.count * (one + elementwise_kernels(layer));
  }
  return kernels;
}

Operator ends_operator(const RankOperators& ops, double tokens) {
  const double T = tokens, D = static_cast<double>(ops.hidden), h = hidden_bytes(ops.precision);
  Operator op = streaming("embedding + final norm", "(2 + 4)*T*D*h", T * (2 + 4) * D * h);
  op.variables = {{{"T", T}, {"D", D}, {"h", h}}};
  return op;
}

RooflineTimes operator_times(const Operator& op, const GpuSpec& gpu,
                             const RooflineEfficiency& efficiency) {
  if (op.link_bytes > 0) {
    return {0, op.link_bytes / gpu.link_bandwidth * kUsPerSecond + gpu.link_latency_us};
  }
  const double peak = gpu.flops(op.weights, op.activations) * efficiency.compute;
  double seconds = op.flops / peak;
  if (op.kept_share > 0) {
    const double wide = gpu.flops(DType::kBf16, DType::kBf16) * efficiency.compute;
    seconds = (1 - op.kept_share) * op.flops / peak + op.kept_share * op.flops / wide;
  }
  const double width = bytes_per_element(gpu.computes_in(op.weights, op.activations));
  if (op.widened > 0 && gpu.flops_fp32 > 0 && bytes_per_element(op.weights) < width) {
    seconds += op.widened * kOperationsPerWidened / gpu.flops_fp32;
  }
  return {seconds * kUsPerSecond,
          op.bytes() / (gpu.memory_bandwidth * efficiency.memory) * kUsPerSecond};
}

}  // namespace headway
