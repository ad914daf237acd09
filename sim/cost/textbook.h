#pragma once

#include "sim/cost/operators.h"
#include "sim/hardware/gpu_spec.h"
#include "sim/model/model_spec.h"

namespace headway {

// The estimates of a lecture (Stanford CS336, Spring 2026, lecture 10, "Inference"): whole matrices
// at two bytes an element, attention over every pair of tokens (a causal mask would halve prefill),
// nothing but weights and KV in memory. They bound what the operators of operators.h sum up to.

// FLOPs a byte; 0 where nothing moves.
double intensity(const Work& work);
// FLOPs a byte from which on this GPU computes longer than it moves: peak / bandwidth, bf16.
double ridge(const GpuSpec& gpu);

// [B, D] x [D, F].
Work textbook_product(double B, double D, double F);
// Gate, up and down for T tokens of each of B sequences.
Work textbook_mlp(double B, double T, double D, double F);
// T queries of each of B sequences over S keys and values, fused, with as many KV heads as heads.
Work textbook_attention(double B, double S, double T, double D);

// What the weight matrices take, norms and biases left out: for a dense untied model in bf16, twice
// 2VD + 3DFL + (2DNH + 2DKH)L. Embedding, LM head and router are never
// quantised; scales of quantised weights are counted.
double textbook_weight_bytes(const ModelSpec& model, const Precision& precision);
// Those of them that a pass over `tokens` tokens reads: of experts the ones that are hit when
// routing is uniform, E (1 - (1 - k/E)^tokens).
double textbook_read_bytes(const ModelSpec& model, const Precision& precision, double tokens);

// One pass that generates a token for each of `batch` sequences of `context` tokens, on one GPU.
struct BatchPoint {
  double batch = 0;
  double weight_bytes = 0;  // that lie in memory
  double kv_bytes = 0;      // of the whole batch
  double read_bytes = 0;    // of the pass: weights that take part, and all the KV
  double latency_s = 0;     // read_bytes / bandwidth
  double tokens_per_s = 0;  // batch / latency

  double memory_bytes() const { return weight_bytes + kv_bytes; }
};
BatchPoint textbook_batch(const ModelSpec& model, const GpuSpec& gpu, const Precision& precision,
                          double batch, double context);

enum class Fit { kYes, kBarely, kNo };
// kBarely: into the memory, but not into the 90 % of it that vLLM takes by default.
Fit fits(double memory_bytes, const GpuSpec& gpu);
const char* fit_name(Fit fit);  // "yes", "barely", "no"
// The largest batch that fits (kYes or kBarely); 0 when the weights alone do not.
std::int64_t largest_batch(const ModelSpec& model, const GpuSpec& gpu, const Precision& precision,
                           double context);

}  // namespace headway
