// When a plan of trtllm repeats, and many repeats at once.
#include <algorithm>
#include <limits>

#include "sim/core/errors.h"
#include "sim/scheduling/decode_blocks.h"
#include "sim/scheduling/trtllm.h"

namespace headway {

// Stage 2 makes the same choice of the same fitting requests. For those to be the same:
//  - the policies that reserve to the end leave the next one as many blocks as before, however far
//    the generations have grown into theirs;
//  - MAX_UTILIZATION lets all that is under way go on while there are blocks for it. The first one
//    waiting stands behind them (else it would have been let in, or paused one of them), and finds
//    ever fewer blocks.
void Trtllm::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  const auto batch = plan.batch();
  // Several micro-batches in flight take turns: they do not name the same requests.
  if (batch == 0 || options_.two_steps_look_ahead || options_.speculates) return;
  if (!plan.preempted.empty() || !plan.rejected.empty() || !refused_.empty()) return;
  if (!decodes_.empty()) {
    if (plan.scheduled.empty()) repeats_of_gathered(out);
    return;
  }
  // Requests that fit but did not run would count in the blocks asked for.
  const bool all_run = batch == std::ssize(started_) && batch == std::ssize(fitting_);
  if (options_.policy == CapacityPolicy::kMaxUtilization && !all_run) return;
  const std::int32_t block_size = options_.tokens_per_block;
  out.new_blocks.assign(static_cast<std::size_t>(block_size), 0);
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (const ScheduledSequence& entry : plan.scheduled) {
    const Sequence& s = *entry.sequence;
    // One whose prompt was cut after a pause may generate again what it has sent: that does not
    // sample.
    const bool decodes = !entry.prefill && entry.num_tokens == 1 && entry.samples &&
                         entry.kind == ScheduledKind::kRunning && !s.finished();
    const std::int32_t room = kv_.room(s.slot);
    if (!decodes || room < 0 || room >= block_size) return;
    ++out.new_blocks[static_cast<std::size_t>(room)];
    steps = std::min<std::int64_t>(steps, output_goal(s) - s.output_tokens - 1);
  }
  if (steps <= 0) return;
  out.steps = steps;
  limit_by_blocks(out, batch, kv_.free_blocks());
}

void Trtllm::repeat(const StepPlan& plan, std::int64_t steps) {
  if (!decodes_.empty()) {
    tick_kv(steps);
    decodes_.repeat(steps);
    return;
  }
  const auto n = static_cast<std::int32_t>(steps);
  for (const ScheduledSequence& entry : plan.scheduled) {
    Sequence& s = *entry.sequence;
    s.output_tokens += n;
    s.computed_tokens += n;
    SIM_CHECK(kv_.store(s.slot, s.computed_tokens), "a repeated step finds no KV block");
  }
}

}  // namespace headway
