// When a plan of llama.cpp repeats, and many repeats at once.
#include <algorithm>
#include <limits>

#include "sim/core/errors.h"
#include "sim/scheduling/llamacpp.h"

namespace headway {

// A batch that runs in one piece is formed anew after every step, from the slots in their order.
// While no slot becomes idle nobody is assigned one, and those that the batch had no room for find
// none.
void LlamaCpp::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  const std::int64_t batch = std::ssize(plan.scheduled);
  const std::int64_t busy = running();
  // Several pieces a batch: each is another plan, and the tokens come with the last one.
  const bool one_piece = batch_.empty() && sampled_.empty() && batch <= piece_tokens_;
  const bool all = batch == busy || batch == batch_tokens_;
  const bool may_join = !deferred_.empty() && busy < std::ssize(slots_);
  if (batch == 0 || !one_piece || !all || may_join) return;
  if (speculates_ || !plan.rejected.empty() || !refused_.empty()) return;
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (const ScheduledSequence& entry : plan.scheduled) {
    const Sequence& s = *entry.sequence;
    if (entry.prefill || entry.num_tokens != 1 || !entry.samples || s.finished()) return;
    steps = std::min<std::int64_t>(steps, output_goal(s) - s.output_tokens - 1);
  }
  out.steps = std::max<std::int64_t>(steps, 0);  // a slot's blocks are its own: none are ever taken
}

void LlamaCpp::repeat(const StepPlan& plan, std::int64_t steps) {
  const auto n = static_cast<std::int32_t>(steps);
  for (const ScheduledSequence& entry : plan.scheduled) {
    Sequence& s = *entry.sequence;
    s.output_tokens += n;
    s.computed_tokens += n;
    SIM_CHECK(s.output_tokens < output_goal(s), "a repeated step would have ended a sequence");
  }
}

}  // namespace headway
