#include "sim/cost/textbook.h"

#include <cmath>

namespace headway {
namespace {

constexpr double kElementBytes = 2;
constexpr double kEngineShare = 0.90;  // gpu_memory_utilization
constexpr double kMostSequences = 1e9;

}  // namespace

double intensity(const Work& work) { return work.bytes > 0 ? work.flops / work.bytes : 0; }

double ridge(const GpuSpec& gpu) { return gpu.flops_bf16 / gpu.memory_bandwidth; }

Work textbook_product(double B, double D, double F) {
  return {2 * B * D * F, kElementBytes * (B * D + D * F + B * F)};
}

// Read the input, write gate and up, read the three matrices, write the output.
Work textbook_mlp(double B, double T, double D, double F) {
  return {6 * B * T * D * F, kElementBytes * (2 * B * T * D + 2 * B * T * F + 3 * D * F)};
}

// Read keys, values and queries, write the output.
Work textbook_attention(double B, double S, double T, double D) {
  return {4 * B * S * T * D, kElementBytes * (2 * B * S * D + 2 * B * T * D)};
}

double textbook_weight_bytes(const ModelSpec& model, const Precision& precision) {
  const ParameterBreakdown p = parameter_breakdown(model);
  const auto quantised = static_cast<double>(p.attention + p.state + p.mlp + p.experts);
  const auto others = static_cast<double>(p.embedding + p.lm_head + p.router);
  return quantised * stored_weight_bytes(precision) + others * unquantised_bytes(precision.weights);
}

double textbook_read_bytes(const ModelSpec& model, const Precision& precision, double tokens) {
  double idle = 0;  // expert parameters that no token is sent to
  for (const LayerKind& kind : layer_kinds(model)) {
    const MlpSpec& mlp = kind.layer.mlp;
    if (mlp.kind != MlpKind::kMoe) continue;
    const ParameterBreakdown p = parameter_breakdown(kind.layer, model.hidden_size);
    const double missed =
        std::pow(1 - static_cast<double>(mlp.experts_per_tok) / mlp.experts, tokens);
    idle += missed * static_cast<double>(p.experts) * kind.count;
  }
  return textbook_weight_bytes(model, precision) - idle * stored_weight_bytes(precision);
}

BatchPoint textbook_batch(const ModelSpec& model, const GpuSpec& gpu, const Precision& precision,
                          double batch, double context) {
  BatchPoint point;
  point.batch = batch;
  point.weight_bytes = textbook_weight_bytes(model, precision);
  point.kv_bytes = batch * kv_bytes(model, precision.kv, context);
  point.read_bytes = textbook_read_bytes(model, precision, batch) + point.kv_bytes;
  point.latency_s = point.read_bytes / gpu.memory_bandwidth;
  point.tokens_per_s = batch / point.latency_s;
  return point;
}

Fit fits(double memory_bytes, const GpuSpec& gpu) {
  const auto memory = static_cast<double>(gpu.memory_bytes);
  if (memory_bytes > memory) return Fit::kNo;
  return memory_bytes > kEngineShare * memory ? Fit::kBarely : Fit::kYes;
}

const char* fit_name(Fit fit) {
  return fit == Fit::kYes ? "yes" : fit == Fit::kBarely ? "barely" : "no";
}

std::int64_t largest_batch(const ModelSpec& model, const GpuSpec& gpu, const Precision& precision,
                           double context) {
  const double room =
      static_cast<double>(gpu.memory_bytes) - textbook_weight_bytes(model, precision);
  const double each = kv_bytes(model, precision.kv, context);
  if (room <= 0) return 0;
  return static_cast<std::int64_t>(each > 0 ? std::min(room / each, kMostSequences)
                                            : kMostSequences);
}

}  // namespace headway
