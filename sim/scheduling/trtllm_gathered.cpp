// Generations of trtllm planned together (decode_set.h).
//
// Stage 1 lets all of them through and stage 2 runs them all wherever blocks, seats and tokens are
// enough for them and for all in front of any of them. Where that is not certain they scatter: that
// step is planned one by one, and whoever generates in it is gathered again.
#include <algorithm>

#include "sim/core/errors.h"
#include "sim/scheduling/decode_blocks.h"
#include "sim/scheduling/trtllm.h"

namespace headway {

// Both stages as they would be with the gathered among started_. False: not certain.
bool Trtllm::choose_with_gathered() {
  fitting_.clear();
  together_ = decodes_.growing();
  const std::int64_t most =
      std::min({options_.max_num_requests, options_.max_num_tokens, options_.max_batch_size});
  const auto alone = std::count_if(started_.begin(), started_.end(),
                                   [this](const Sequence* s) { return generating(*s); });
  bool certain = together_ + alone <= most;
  if (certain && options_.policy == CapacityPolicy::kMaxUtilization) {
    certain = fit_max_utilization_with_gathered();
  } else if (certain) {
    fit_reserved();  // generations in front of all others
  }
  if (certain) {
    const Sequence* left_out = choose_batch();
    // Of those that reserve, it is no generation.
    certain = left_out == nullptr || options_.policy != CapacityPolicy::kMaxUtilization ||
              behind_all(*left_out);
  }
  if (!certain) together_ = 0;
  return certain;
}

bool Trtllm::behind_all(const Sequence& s) const {
  const MoreUrgent before;
  return before(gathered_.back(), &s) && (started_.empty() || before(started_.back(), &s));
}

void Trtllm::plan_gathered(StepPlan& plan) {
  together_ = 0;
  tick_kv(1);
  plan.decodes = decodes_.tick();
  plan.total_tokens += plan.decodes.sequences;
}

void Trtllm::tick_kv(std::int64_t ticks) {
  const std::int64_t free = kv_.free_blocks();
  kv_.tick(ticks);
  to_completion_ -= free - kv_.free_blocks();
}

// Has a step in flight that samples, and wants a token more after that one.
bool Trtllm::may_gather(const Sequence& s) const {
  if (!in_flight(s) || s.computed_tokens != s.known_tokens() || !generating(s)) return false;
  // Several answers to one request are not told alike (of beams only one is heard).
  if (s.group != nullptr || s.sample != 0 || output_goal(s) - s.output_tokens < 2) return false;
  const std::int32_t room = kv_.room(s.slot);
  return room >= 0 && room < options_.tokens_per_block;
}

void Trtllm::gather(StepPlan& plan) {
  std::erase_if(started_, [&](Sequence* s) {
    if (!may_gather(*s)) return false;
    decodes_.join(*s, output_goal(*s) - s->output_tokens - 1, false);
    to_completion_ += blocks_to_completion(*s);
    kv_.gather(s->slot);
    gathered_.insert(std::upper_bound(gathered_.begin(), gathered_.end(), s, MoreUrgent()), s);
    plan.gathered.push_back(s);
    return true;
  });
}

// It has left the set: its KV is its own again.
void Trtllm::leave_gathered(Sequence& s) {
  const auto place = std::lower_bound(gathered_.begin(), gathered_.end(), &s, MoreUrgent());
  SIM_CHECK(place != gathered_.end() && *place == &s);
  gathered_.erase(place);
  kv_.scatter(s.slot);
  to_completion_ -= blocks_to_completion(s);
}

void Trtllm::scatter_all(StepPlan& plan) {
  plan.scattered = gathered_;
  for (Sequence* s : plan.scattered) {
    decodes_.scatter(*s);
    leave_gathered(*s);
    started_.push_back(s);
  }
  std::sort(started_.begin(), started_.end(), MoreUrgent());
}

void Trtllm::settle() {
  for (const Sequence* s : gathered_) decodes_.settle(*s);
}

void Trtllm::complete_gathered(StepUpdate& update) {
  update.gathered_tokens = decodes_.complete().emitted;
  while (Sequence* s = decodes_.next_finished()) {
    leave_gathered(*s);
    end_answer(*s, update);
  }
}

void Trtllm::write_out(const StepPlan& plan, std::vector<ScheduledSequence>& out) const {
  out = plan.scheduled;
  if (plan.decodes.sequences == 0) return;
  for (const Sequence* s : gathered_) {
    if (decodes_.takes_part(*s)) out.push_back(decodes_.entry(*s));
  }
  const auto generations = std::find_if(out.begin(), out.end(), [](const ScheduledSequence& entry) {
    return !entry.prefill;
  });
  std::sort(generations, out.end(), [](const ScheduledSequence& a, const ScheduledSequence& b) {
    return MoreUrgent()(a.sequence, b.sequence);
  });
}

std::vector<Sequence*> Trtllm::fitting() const {
  std::vector<Sequence*> all;
  for (Sequence* s : gathered_) {
    if (decodes_.takes_part(*s)) all.push_back(s);
  }
  if (all.empty()) return fitting_;
  all.insert(all.end(), fitting_.begin(), fitting_.end());
  // Generations, then the others; or all in one order.
  const bool one_order = options_.policy == CapacityPolicy::kMaxUtilization;
  const auto was_generating = [this](const Sequence* s) {
    return decodes_.takes_part(*s) ||
           std::find(generations_.begin(), generations_.end(), s) != generations_.end();
  };
  const auto end = one_order ? all.end()
                             : std::stable_partition(all.begin(), all.end(), was_generating);
  std::sort(all.begin(), end, MoreUrgent());
  return all;
}

// REQUIRES: all of the plan were gathered before it.
void Trtllm::repeats_of_gathered(Repeats& out) const {
  if (!started_.empty() || !decodes_.steady()) return;
  // One that fits but did not run would count in the blocks asked for.
  if (options_.policy == CapacityPolicy::kMaxUtilization && !fitting_.empty()) return;
  const std::int64_t steps = decodes_.next_finish() - decodes_.planned();
  if (steps <= 0) return;
  out.steps = steps;
  out.new_blocks.resize(static_cast<std::size_t>(options_.tokens_per_block));
  kv_.blocks_ahead(out.new_blocks);
  limit_by_blocks(out, decodes_.size(), kv_.free_blocks());
}

}  // namespace headway
