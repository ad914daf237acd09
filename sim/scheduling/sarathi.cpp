// sarathi: stall-free chunked prefill (Agrawal et al., OSDI 2024), as microsoft/sarathi-serve
// 96f9911790ec runs it (sarathi/core/scheduler/sarathi_scheduler.py). One token budget a step (the
// chunk size: max_num_batched_tokens) covers decodes, which come first, then prompts under way,
// then new prompts, each cut to what is left. The blocks of a whole prompt are taken with its first
// chunk and must leave the watermark free.
#include <algorithm>

#include "sim/scheduling/policies.h"
#include "sim/scheduling/sarathi_serve.h"

namespace headway {
namespace {

class Sarathi final : public SarathiServe {
 public:
  Sarathi(const SchedulerConfig& config, Behaviour behaviour) : SarathiServe(config, behaviour) {}

 protected:
  void decide(SimTime now, StepPlan& plan) override {
    for (Sequence* sequence : decode_running(plan)) {
      const std::int32_t tokens = chunk(prefill_left(*sequence), plan);
      if (tokens > 0) schedule_chunk(*sequence, tokens, ScheduledKind::kRunning, plan);
      running_.push_back(sequence);
    }
    if (plan.preempted.empty()) admit_waiting(now, plan);
    prompts_first(plan);
  }

 private:
  std::int32_t chunk(std::int32_t left, const StepPlan& plan) const {
    return std::min(left, token_budget() - plan.total_tokens);
  }

  void admit_waiting(SimTime now, StepPlan& plan) {
    while (Sequence* sequence = next_in_seats(now, plan)) {
      if (!can_admit(*sequence)) return plan.hold_back(*sequence, HeldBack::kKvBlocks);
      const std::int32_t tokens = chunk(sequence->known_tokens(), plan);
      if (tokens <= 0) return plan.hold_back(*sequence, HeldBack::kTokenBudget);
      admit(*sequence, tokens, plan);
    }
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_sarathi(const SchedulerConfig& config) {
  return std::make_unique<Sarathi>(config, SarathiServe::Behaviour::kSound);
}

std::unique_ptr<Scheduler> make_sarathi_as_recorded(const SchedulerConfig& config) {
  return std::make_unique<Sarathi>(config, SarathiServe::Behaviour::kAsRecorded);
}

}  // namespace headway
