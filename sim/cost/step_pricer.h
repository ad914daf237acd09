#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/cost/step_shape.h"

namespace headway {

// A time in microseconds and where it came from.
struct Priced {
  double us = 0;
  Coverage from = Coverage::kMeasured;
};

// The less certain of two sources.
constexpr Coverage weaker(Coverage a, Coverage b) { return a < b ? b : a; }

inline void add_cost(StepCost& cost, OpClass op, double us, Coverage from) {
  cost.gpu_us += us;
  cost.by_class_us[static_cast<std::size_t>(op)] += us;
  cost.coverage_us[static_cast<std::size_t>(from)] += us;
}

inline void add_cost(StepCost& to, const StepCost& what) {
  to.gpu_us += what.gpu_us;
  for (std::size_t i = 0; i < kOpClasses; ++i) to.by_class_us[i] += what.by_class_us[i];
  for (std::size_t i = 0; i < kCoverageKinds; ++i) to.coverage_us[i] += what.coverage_us[i];
}

// Prices of the separable parts of a step, whole model, before lowering: each call walks tables or
// formulas. LoweredCost fills its own tables from one of these. Thread-safe for concurrent reads.
class StepPricer {
 public:
  virtual ~StepPricer() = default;

  // All that depends only on the rows through the layers: products, elementwise, communication.
  virtual StepCost linear(std::int32_t tokens) const = 0;
  // Where ranks with attention of their own share the experts (data parallelism): the experts and the
  // collectives around them for the rows of all ranks. Nothing where linear() has them.
  virtual StepCost experts(std::int32_t group_tokens) const {
    static_cast<void>(group_tokens);
    return {};
  }
  // The LM head (and sampler where measured) for that many sampled sequences.
  virtual StepCost lm_head(std::int32_t sequences) const = 0;
  // Attention of a pure decode batch of equal KV lengths that sum to kv_tokens.
  virtual Priced decode_attention(std::int32_t batch, double kv_tokens) const = 0;
  // What decoding sequences take whatever their lengths: recurrent states. Class kDecodeAttention.
  virtual StepCost decode_fixed(std::int32_t batch) const;
  // KV lengths (of each sequence) at which decode_attention() bends, ascending, from 1.
  virtual std::vector<double> decode_knots(std::int32_t batch) const = 0;
  // Unequal lengths: the share of the way from the time at the mean length to the time as if all
  // were as long as the longest. 0 = the mean length says it all.
  virtual double decode_skew(std::int32_t batch) const = 0;
  // Adds the attention of a step that has prefill chunks; `decode` is what its decode part would
  // take in a call of its own (0 us when it has none).
  virtual void add_prefill(const StepShape& shape, Priced decode, StepCost& cost) const = 0;

  // The same without tables made beforehand, where a pricer has such.
  virtual void add_prefill_unlowered(const StepShape& shape, Priced decode, StepCost& cost) const {
    add_prefill(shape, decode, cost);
  }

  // Kernels that a step launches; 0 = not known.
  virtual double kernels() const;

  virtual std::string describe() const = 0;
};

inline double StepPricer::kernels() const { return 0; }
inline StepCost StepPricer::decode_fixed(std::int32_t) const { return {}; }

}  // namespace headway
