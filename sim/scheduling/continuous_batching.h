#pragma once

#include <limits>
#include <memory>

#include "sim/scheduling/batch_scheduler.h"

namespace headway {

// Iteration-level batching of whole prompts (Orca, Yu et al. 2022): every step decodes all running
// sequences and admits waiting prompts, head of line, while seats, token budget and KV allow. Where
// paged KV runs short, running sequences are preempted by recompute and nothing is admitted in that
// step. Policies differ in who is next (rank) and who yields (victim).
//
// A prompt is never split. One longer than the token budget is the only prompt of its step.
class ContinuousBatching : public BatchScheduler {
 protected:
  static constexpr std::int32_t kNoBudget = std::numeric_limits<std::int32_t>::max();

  ContinuousBatching(const SchedulerConfig& config, std::unique_ptr<KvStore> kv,
                     std::int32_t token_budget)
      : BatchScheduler(config, std::move(kv)), token_budget_(token_budget) {}

  void decide(SimTime now, StepPlan& plan) override;
  // Who yields when running_[index] cannot grow: an index from `index` on. The latest admitted.
  virtual std::size_t victim(std::size_t index) const {
    static_cast<void>(index);
    return running_.size() - 1;
  }
  // Called once at each sequence's first admission.
  virtual void on_admitted(Sequence&) {}

  void decode_running(StepPlan& plan);
  void admit_waiting(SimTime now, StepPlan& plan);

 private:
  std::int32_t token_budget_;
};

}  // namespace headway
