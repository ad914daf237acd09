#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/cost/step_shape.h"

namespace headway {

// Where a modelled time came from.
enum class Coverage : std::uint8_t { kMeasured, kInterpolated, kExtrapolated, kRoofline };
inline constexpr std::size_t kCoverageKinds = 4;

// Classes of GPU work, for step-time breakdowns.
enum class OpClass : std::uint8_t {
  kLinear,            // QKV, O, gate/up, down (and router / experts)
  kPrefillAttention,
  kDecodeAttention,
  kLmHead,            // per sampled sequence, with the sampler
  kElementwise,       // norms, RoPE, activation, embedding, KV write
  kCommunication,     // all-reduce, all-to-all, pipeline sends
  kOther,
};
inline constexpr std::size_t kOpClasses = 7;
std::string_view op_class_name(OpClass op);

// GPU time of one step, in microseconds; the host terms are the replica's.
struct StepCost {
  double gpu_us = 0;                              // the sum of by_class_us
  std::array<double, kOpClasses> by_class_us{};
  std::array<double, kCoverageKinds> coverage_us{};  // the same time split by where it came from
};

// GPU time of a run of decode steps, each with every sequence one token longer than the one before.
// A buffer that the caller reuses.
struct DecodeRunCost {
  StepCost fixed;                 // what all the steps have in common
  OpClass changing = OpClass::kDecodeAttention;  // the class of what they have not
  std::vector<double> gpu_us;     // of each step (there may be room for more): what price() gives
  std::vector<std::uint8_t> from; // Coverage of what it has beyond `fixed`
  // What price_run() needs on the way, where unequal lengths cost more than their mean.
  std::vector<double> all_us;
  std::vector<std::uint8_t> all_from;

  StepCost at(std::size_t step) const {
    StepCost cost = fixed;
    const double changing_us = gpu_us[step] - fixed.gpu_us;
    cost.gpu_us = gpu_us[step];
    cost.by_class_us[static_cast<std::size_t>(changing)] += changing_us;
    cost.coverage_us[from[step]] += changing_us;
    return cost;
  }
};

// GPU time of such a run in sums.
struct DecodeRunSum {
  StepCost fixed;  // of each step
  OpClass changing = OpClass::kDecodeAttention;
  std::array<double, kCoverageKinds> changing_us{};  // of all steps, beyond `fixed`; by Coverage
};

// Step -> GPU time, from a profile or from the roofline. Lowered once per run: price() is a few
// look-ups (well under a microsecond) and allocates nothing. Thread-safe for concurrent reads.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual StepCost price(const StepShape& shape) const = 0;
  // The shapes of ranks that step together, one a rank: sets padded_tokens and group_tokens of each.
  // A rank without work (no tokens) runs a dummy batch of one token.
  virtual void align(std::span<StepShape> ranks) const;
  // The `steps` decode steps that begin with `first`. A few nanoseconds a step where the model is
  // lowered. REQUIRES: no prefill, one query a sequence.
  virtual void price_run(const StepShape& first, std::int64_t steps, DecodeRunCost& out) const;
  // What that comes to, to a rounding.
  virtual DecodeRunSum sum_run(const StepShape& first, std::int64_t steps) const;
  // No step of a token or more takes less; 0 = not known.
  virtual double least_us() const { return 0; }
  // KV length above which, and step size above which, price() extrapolates; for messages.
  virtual std::string describe() const = 0;
};

}  // namespace headway
