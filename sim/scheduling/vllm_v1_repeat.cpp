// When a plan of vLLM V1 repeats, and many repeats at once.
#include <algorithm>
#include <limits>

#include "sim/scheduling/decode_blocks.h"
#include "sim/scheduling/vllm_v1.h"

namespace headway {

void VllmV1::repeats(const StepPlan& plan, Repeats& out) const {
  out.clear();
  const std::size_t batch = plan.scheduled.size();
  if (batch == 0 || batch != running_.size() || !nobody_will_join(plan)) return;
  const std::int32_t in_flight = std::max(plan.scheduled.front().sequence->placeholders - 1, 0);
  const std::int32_t block_size = kv_.block_size();
  out.new_blocks.assign(static_cast<std::size_t>(block_size), 0);
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < batch; ++i) {
    const ScheduledSequence& entry = plan.scheduled[i];
    const Sequence& s = *entry.sequence;
    const bool decodes = !entry.prefill && entry.num_tokens == 1 && entry.samples &&
                         entry.draft_tokens == 0 && entry.sequence == running_[i];
    // Its tokens but for those that the steps in flight sample are known, and all but the last
    // computed.
    const bool steady = std::max(s.placeholders - 1, 0) == in_flight &&
                        s.computed_tokens == s.known_tokens() + in_flight;
    const std::int32_t room = kv_.room(s.slot);
    if (!decodes || !steady || room < 0 || room >= block_size) return;
    ++out.new_blocks[static_cast<std::size_t>(room)];
    steps = std::min(steps, further_steps(s));
  }
  if (steps <= 0) return;
  out.steps = steps;
  limit_by_blocks(out, static_cast<std::int64_t>(batch), kv_.pool().free_blocks());
}

// The head of the queue was refused just now for a seat, for budget or for blocks. Seats and budget
// stay taken, and free blocks only become fewer; but with prefix caching the decodes may complete a
// block that it shares.
bool VllmV1::nobody_will_join(const StepPlan& plan) const {
  if (!plan.preempted.empty() || !plan.rejected.empty() || !refused_.empty()) return false;
  if (num_speculative_tokens_ > 0 || num_lookahead_tokens_ > 0) return false;
  return waiting_.empty() || running() >= max_num_seqs_ || !prefix_caching_;
}

// Steps after the one just planned in which it is sure to decode: step j is planned when j more of
// its tokens are known.
std::int64_t VllmV1::further_steps(const Sequence& s) const {
  const std::int32_t longest =
      std::min({s.output_target, s.max_tokens, max_model_len_ - s.prompt_tokens});
  std::int32_t steps = std::min(longest - s.output_tokens - 1,
                                max_model_len_ - 1 - s.computed_tokens);
  // With steps in flight the engine foresees the limit, and does not plan beyond it.
  const std::int32_t in_flight = s.placeholders - 1;
  if (in_flight > 0) {
    steps = std::min(steps, s.prompt_tokens + s.max_tokens - s.computed_tokens - 2 + in_flight);
  }
  return steps;
}

void VllmV1::repeat(const StepPlan& plan, std::int64_t steps) {
  slots_.clear();
  for (const ScheduledSequence& entry : plan.scheduled) {
    Sequence& s = *entry.sequence;
    s.output_tokens += static_cast<std::int32_t>(steps);
    s.computed_tokens += static_cast<std::int32_t>(steps);
    slots_.push_back(s.slot);
  }
  const std::int32_t in_flight = plan.scheduled.front().sequence->placeholders - 1;
  kv_.extend(slots_, steps, std::max(in_flight, 0));
}

}  // namespace headway
