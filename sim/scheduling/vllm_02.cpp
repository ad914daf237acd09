// vllm-0.2: the first vLLM's rule (Kwon et al., SOSP 2023), as microsoft/sarathi-serve 96f9911790ec
// carries it (sarathi/core/scheduler/vllm_scheduler.py). A step is all prefill or all decode: while
// a waiting prompt can be admitted (head of line; whole prompts within max_num_batched_tokens,
// their blocks above the watermark), steps prefill only and every decode stalls.
//
// vLLM 0.2 refused to start with max_num_batched_tokens below max_model_len. Here a prompt longer
// than the budget has a step to itself.
#include "sim/scheduling/policies.h"
#include "sim/scheduling/sarathi_serve.h"

namespace headway {
namespace {

class Vllm02 final : public SarathiServe {
 public:
  Vllm02(const SchedulerConfig& config, Behaviour behaviour) : SarathiServe(config, behaviour) {}

 protected:
  void decide(SimTime now, StepPlan& plan) override {
    admit_waiting(now, plan);
    // As published, a step that ignores a prompt runs nothing else.
    if (as_recorded() && !plan.rejected.empty()) return;
    if (plan.empty()) decode_running(plan);
  }

  // A prompt may be held up by those of further steps.
  bool decode_next(const StepPlan& plan) const override {
    return plan.scheduled.empty() || !plan.scheduled.front().prefill;
  }

 private:
  void admit_waiting(SimTime now, StepPlan& plan) {
    while (Sequence* sequence = next_waiting(now, plan)) {
      const std::int32_t tokens = sequence->known_tokens();
      if (as_recorded() && tokens > token_budget()) {
        reject(*sequence, "prompt is longer than max_num_batched_tokens", plan);
        continue;
      }
      if (!can_admit(*sequence)) return plan.hold_back(*sequence, HeldBack::kKvBlocks);
      if (running() >= engine_.max_num_seqs) return plan.hold_back(*sequence, HeldBack::kSeats);
      if (!plan.empty() && tokens > token_budget() - plan.total_tokens) {
        return plan.hold_back(*sequence, HeldBack::kTokenBudget);
      }
      admit(*sequence, tokens, plan);
    }
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_vllm_02(const SchedulerConfig& config) {
  return std::make_unique<Vllm02>(config, SarathiServe::Behaviour::kSound);
}

std::unique_ptr<Scheduler> make_vllm_02_as_recorded(const SchedulerConfig& config) {
  return std::make_unique<Vllm02>(config, SarathiServe::Behaviour::kAsRecorded);
}

}  // namespace headway
