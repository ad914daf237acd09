#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/replica/speculation_options.h"
#include "sim/scheduling/sequence.h"

namespace headway {

// What speculation did in a run, as vLLM V1 counts it (vllm/v1/spec_decode/metrics.py): a "draft" is
// one sequence and step that had drafted tokens to verify.
struct SpeculationStats {
  std::uint64_t drafts = 0;
  std::uint64_t drafted_tokens = 0;
  std::uint64_t accepted_tokens = 0;
  std::vector<std::uint64_t> accepted_at;  // drafts whose position i was accepted

  double acceptance_rate() const;          // accepted / drafted tokens
  double mean_acceptance_length() const;   // 1 + accepted / drafts: the bonus token counts
  std::vector<double> per_position() const;  // unconditional, non-increasing
  void add(const SpeculationStats& other);
};

// The random side of speculative decoding: how many drafts a verification accepts, how many are
// proposed next, and what proposing costs. Luck is a function of (seed, request, output position),
// so that two policies compared on one workload see the same luck for the same token.
class Speculation {
 public:
  // `pass_cost` prices one pass of the drafter (null: drafting is free, as n-gram look-up nearly is).
  Speculation(SpeculationOptions options, std::uint64_t seed,
              std::shared_ptr<const CostModel> pass_cost);

  // Accepted of `draft_tokens` drafts when the sequence had `output_tokens` outputs.
  std::int32_t accepted(const Sequence& sequence, std::int32_t draft_tokens);
  // Drafts to propose after a step of `batch` sequences in which this one sampled.
  std::int32_t proposal(const Sequence& sequence, std::int32_t batch) const;
  // k for a step of that many sequences.
  std::int32_t drafts_for_batch(std::int32_t batch) const;

  // GPU time of proposing after a step: `shape` is the step the target has run, `sampling` of its
  // sequences will draft. The drafter reads the step's tokens once (its own prefill included), then
  // makes k - 1 passes of one token each; medusa heads run once.
  StepCost draft_cost(const StepShape& shape, std::int32_t sampling, StepShape& scratch) const;

  const SpeculationStats& stats() const { return stats_; }

 private:
  double uniform(const Sequence& sequence, std::uint64_t purpose) const;

  SpeculationOptions options_;
  std::uint64_t seed_;
  std::shared_ptr<const CostModel> pass_cost_;
  SpeculationStats stats_;
};

}  // namespace headway
