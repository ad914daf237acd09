#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/cost/cuda_graphs.h"
#include "sim/cost/step_pricer.h"

namespace headway {

// Sizes that are tabulated. Steps beyond them are priced from the StepPricer itself.
struct LoweringLimits {
  std::int32_t tokens = 8192;
  std::int32_t sequences = 256;
  std::int32_t kv_length = 131072;  // of one sequence
  std::int32_t ranks = 1;           // that step together: their rows meet in the experts
};

// A piece of decode attention that is straight in the KV sum: the time at kv_tokens, its slope, and
// the first sum beyond which another piece holds.
struct DecodeSegment {
  double us = 0;
  double us_per_token = 0;
  std::int64_t last_kv_tokens = 0;  // the piece holds up to here, inclusive
  Coverage from = Coverage::kMeasured;
  Coverage after = Coverage::kMeasured;  // of the sums between kv_tokens and the end

  // So many steps that add `batch` tokens each begin in it and come from where the first does.
  std::int64_t steps(std::int64_t kv_tokens, std::int32_t batch) const {
    return from == after ? (last_kv_tokens - kv_tokens + batch - 1) / batch : 1;
  }
};

// A cost model as tables: linear layers by token count (exact), LM head by sequences (exact), decode
// attention by batch and KV sum (straight pieces, within 0.1 %). The pieces of a batch size are made
// when it first occurs; what they hold does not depend on the order of calls.
class LoweredCost final : public CostModel {
 public:
  LoweredCost(std::unique_ptr<const StepPricer> pricer, LoweringLimits limits, CudaGraphs graphs);
  ~LoweredCost() override;

  StepCost price(const StepShape& shape) const override;
  void align(std::span<StepShape> ranks) const override { align_ranks(ranks, graphs_); }
  void price_run(const StepShape& first, std::int64_t steps, DecodeRunCost& out) const override;
  DecodeRunSum sum_run(const StepShape& first, std::int64_t steps) const override;
  double least_us() const override { return least_us_; }
  std::string describe() const override;

  // Decode attention for equal KV lengths. Several queries of one sequence (verification of a
  // draft) read its KV once and count as one. REQUIRES: batch >= 1, kv_tokens >= batch.
  DecodeSegment decode_attention_segment(std::int32_t batch, std::int64_t kv_tokens) const;
  // The share of StepPricer::decode_skew, so that a closed form can be built for unequal lengths:
  // time = (1 - skew) segment(batch, sum) + skew segment(batch, batch x longest).
  double decode_skew(std::int32_t batch) const;

 private:
  struct Row;  // decode pieces of one batch size
  StepCost fixed_part(const StepShape& shape) const;  // all but attention
  StepCost linear(std::int32_t rows) const;
  StepCost make_fixed_part(const StepShape& shape) const;
  StepCost experts(std::int32_t rows, std::int32_t group_rows) const;
  const Row& row(std::int32_t batch) const;
  Priced decode(const StepShape& shape) const;
  Priced decode_at(std::int32_t batch, std::int64_t kv_tokens) const;
  void decode_run(std::int32_t batch, std::int64_t kv_tokens, std::size_t steps,
                  double fixed_us, double* us, std::uint8_t* from) const;

  std::unique_ptr<const StepPricer> pricer_;
  LoweringLimits limits_;
  CudaGraphs graphs_;
  double kernels_;  // of a step
  double least_us_ = 0;
  std::vector<StepCost> linear_;   // by tokens after padding
  std::vector<StepCost> lm_head_;  // by sequences
  std::vector<StepCost> experts_;  // by rows of all ranks; empty unless the pricer has them apart
  std::vector<StepCost> decode_fixed_;  // by decode sequences
  std::vector<StepCost> decodes_;  // the fixed part of so many decodes and nothing else
  std::vector<double> skew_;       // by sequences
  std::unique_ptr<Row[]> rows_;    // by batch
};

// The same step without tables; for tests of the lowering.
StepCost price_unlowered(const StepPricer& pricer, const CudaGraphs& graphs,
                         const StepShape& shape);

}  // namespace headway
