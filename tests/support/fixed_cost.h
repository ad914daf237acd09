#pragma once

#include "sim/cost/cost_model.h"

namespace headway {

// A cost model of constants, for closed forms: fixed + per prefill token + per decode sequence.
class FixedCost : public CostModel {
 public:
  FixedCost(double step_us, double prefill_token_us, double decode_sequence_us)
      : step_us_(step_us), prefill_us_(prefill_token_us), decode_us_(decode_sequence_us) {}

  StepCost price(const StepShape& shape) const override {
    double us = step_us_ + decode_us_ * shape.decode_sequences;
    for (const PrefillChunk& chunk : shape.prefill) us += prefill_us_ * chunk.new_tokens;
    StepCost cost;
    cost.gpu_us = us;
    cost.by_class_us[static_cast<std::size_t>(OpClass::kOther)] = us;
    cost.coverage_us[static_cast<std::size_t>(Coverage::kRoofline)] = us;
    return cost;
  }
  double least_us() const override { return step_us_; }
  std::string describe() const override { return "constants"; }

 private:
  double step_us_, prefill_us_, decode_us_;
};

}  // namespace headway
