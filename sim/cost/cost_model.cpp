#include "sim/cost/cost_model.h"

#include <algorithm>

#include "sim/cost/cuda_graphs.h"

namespace headway {

void CostModel::align(std::span<StepShape> ranks) const { align_ranks(ranks, {}); }

void CostModel::price_run(const StepShape& first, std::int64_t steps, DecodeRunCost& out) const {
  out.fixed = price(first);
  const auto largest = [](const auto& parts) {
    return std::max_element(parts.begin(), parts.end()) - parts.begin();
  };
  out.changing = static_cast<OpClass>(largest(out.fixed.by_class_us));
  out.gpu_us.clear();
  out.from.clear();
  StepShape shape = first;
  for (std::int64_t i = 0; i < steps; ++i) {
    const StepCost cost = price(shape);
    out.gpu_us.push_back(cost.gpu_us);
    out.from.push_back(static_cast<std::uint8_t>(largest(cost.coverage_us)));
    shape.decode_kv_tokens += shape.decode_sequences;
    ++shape.decode_kv_max;
  }
}

DecodeRunSum CostModel::sum_run(const StepShape& first, std::int64_t steps) const {
  DecodeRunCost run;
  price_run(first, steps, run);
  DecodeRunSum sum{.fixed = run.fixed, .changing = run.changing};
  for (std::size_t i = 0; i < static_cast<std::size_t>(steps); ++i) {
    sum.changing_us[run.from[i]] += run.gpu_us[i] - run.fixed.gpu_us;
  }
  return sum;
}

std::string_view op_class_name(OpClass op) {
  switch (op) {
    case OpClass::kLinear: return "linear";
    case OpClass::kPrefillAttention: return "prefill_attention";
    case OpClass::kDecodeAttention: return "decode_attention";
    case OpClass::kLmHead: return "lm_head";
    case OpClass::kElementwise: return "elementwise";
    case OpClass::kCommunication: return "communication";
    case OpClass::kOther: return "other";
  }
  return "other";
}

}  // namespace headway
