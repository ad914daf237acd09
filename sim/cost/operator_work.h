#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/core/dtype.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/operators.h"
#include "sim/cost/step_shape.h"
#include "sim/hardware/gpu_spec.h"

namespace headway {

// A symbol of an operator's formulas.
struct Variable {
  const char* symbol = nullptr;  // nullptr: none
  double value = 0;
};

// One kernel of a step on one GPU: what it computes and what it moves, and the formulas behind both
// (operator_list.h puts the numbers in). FLOPs of norms, rotations and activations, a few an
// element and far below any ridge, are not counted, nor is what biases add. The text belongs to the
// RankOperators that it was made from.
struct Operator {
  const char* name = "";
  OpClass op = OpClass::kOther;
  DType weights = DType::kBf16, activations = DType::kBf16;  // operands: which peak holds
  double flops = 0;
  double weight_bytes = 0;
  double kv_bytes = 0;          // cache and recurrent states
  double activation_bytes = 0;
  double kept_share = 0;        // of the FLOPs, at 16 bits: Precision::kept_fraction
  double widened = 0;           // weights turned into the format that products compute in
  double link_bytes = 0;        // of a message, per GPU
  const char* flops_formula = "";
  const char* weight_formula = "";
  const char* kv_formula = "";
  const char* activation_formula = "";
  std::array<Variable, 10> variables{};

  double bytes() const { return weight_bytes + kv_bytes + activation_bytes; }
};

// A handful of operators, without the heap.
class OperatorParts {
 public:
  void add(const Operator& part) { parts_[size_++] = part; }
  const Operator* begin() const { return parts_.data(); }
  const Operator* end() const { return parts_.data() + size_; }
  std::size_t size() const { return size_; }
  const Operator& operator[](std::size_t i) const { return parts_[i]; }

 private:
  std::array<Operator, 6> parts_{};
  std::size_t size_ = 0;
};

// Each of ONE layer (or once a step), for `tokens` rows.
Operator gemm_operator(const GemmSite& site, double tokens, const Precision& precision);
// The products of the chosen experts; REQUIRES: layer.is_moe().
Operator experts_operator(const RankOperators& ops, const RankLayer& layer, double tokens);
// Norms with residual adds, RoPE, KV write, activation.
OperatorParts elementwise_operators(const RankOperators& ops, const RankLayer& layer,
                                    double tokens);
double elementwise_bytes(const RankOperators& ops, const RankLayer& layer, double tokens);
// Kernels that those are, in an engine that fuses what can be: RoPE with the KV write, a norm with
// the residual.
int elementwise_kernels(const RankLayer& layer);
// Kernels that a step launches: products (a mixture's two grouped ones), what mixes tokens, those
// above, the ends, and the messages between GPUs.
double step_kernels(const RankOperators& ops);
// Embedding look-up and final norm, once a step.
Operator ends_operator(const RankOperators& ops, double tokens);

// What mixes tokens, for the decode sequences of a step: one query each, over kv_tokens tokens in
// all. A kind that looks at a part of them (a window, the top k) is priced as if all sequences were
// of the mean length: min(mean, window) each. That is exact for equal lengths and for batches on
// one side of the bend, and never too little: a batch with half its sequences at 0.5 windows and
// half at 1.5 is charged 1 where the truth is 0.75, the worst case for lengths that spread no
// wider. In return the price depends on the batch and the KV sum alone, so runs stay closed forms.
OperatorParts decode_operators(const RankOperators& ops, const RankLayer& layer, double batch,
                               double kv_tokens);
// KV lengths at which that bends, ascending.
std::vector<double> decode_bends(const RankLayer& layer);
// The same for the prefill chunks of a step, which are one call.
OperatorParts prefill_operators(const RankOperators& ops, const RankLayer& layer,
                                const std::vector<PrefillChunk>& chunks);

// Pairs of a query and a key it sees: new_tokens queries behind context_tokens, each seeing the
// last `window` tokens at most (0 = all), itself included.
double causal_pairs(double new_tokens, double context_tokens, double window);

// Shares of the data-sheet figures that operators reach. 1 = the roofline proper.
struct RooflineEfficiency {
  double compute = 1;
  double memory = 1;
};
// Compute and memory time of one call, in microseconds; its time at the roofline is the longer one.
struct RooflineTimes {
  double compute_us = 0, memory_us = 0;
  double us() const { return compute_us > memory_us ? compute_us : memory_us; }
};
RooflineTimes operator_times(const Operator& op, const GpuSpec& gpu,
                             const RooflineEfficiency& efficiency = {});
inline double operator_us(const Operator& op, const GpuSpec& gpu,
                          const RooflineEfficiency& efficiency = {}) {
  return operator_times(op, gpu, efficiency).us();
}

}  // namespace headway
