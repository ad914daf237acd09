#include "sim/scheduling/sarathi_serve.h"

#include <algorithm>

namespace headway {

std::vector<Sequence*>& SarathiServe::decode_running(StepPlan& plan) {
  const auto by_arrival = [](const Sequence* a, const Sequence* b) { return a->order < b->order; };
  if (!std::is_sorted(running_.begin(), running_.end(), by_arrival)) {
    std::sort(running_.begin(), running_.end(), by_arrival);
  }
  prefills_.clear();
  unvisited_.swap(running_);
  running_.clear();
  for (std::size_t i = 0; i < unvisited_.size(); ++i) {
    Sequence& sequence = *unvisited_[i];
    const bool no_budget = !as_recorded() && plan.total_tokens >= token_budget();
    if (in_flight(sequence)) {
      running_.push_back(&sequence);
    } else if (prefilling(sequence)) {
      prefills_.push_back(&sequence);
    } else if (no_budget || decode_or_yield(sequence, i + 1, plan)) {
      running_.push_back(&sequence);
    }
  }
  return prefills_;
}

bool SarathiServe::decode_or_yield(Sequence& sequence, std::size_t next, StepPlan& plan) {
  while (!try_decode(sequence, plan)) {
    Sequence* victim = take_victim(next);
    preempt(victim != nullptr ? *victim : sequence, plan);
    if (victim == nullptr) return false;
  }
  return true;
}

// The last unvisited sequence whose step is not in flight.
Sequence* SarathiServe::take_victim(std::size_t first) {
  for (std::size_t i = unvisited_.size(); i > first; --i) {
    Sequence* candidate = unvisited_[i - 1];
    if (in_flight(*candidate)) continue;
    unvisited_.erase(unvisited_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    return candidate;
  }
  return nullptr;
}

void SarathiServe::on_preempted(Sequence& sequence) {
  if (!as_recorded()) return;
  if (sequence.slot >= restarted_at_.size()) restarted_at_.resize(sequence.slot + 1);
  restarted_at_[sequence.slot] = {&sequence, sequence.output_tokens};
}

std::int32_t SarathiServe::output_goal(const Sequence& sequence) const {
  const std::int32_t goal = BatchScheduler::output_goal(sequence);
  if (sequence.slot >= restarted_at_.size()) return goal;
  const auto& [owner, output] = restarted_at_[sequence.slot];
  return owner == &sequence ? output + sequence.output_target : goal;
}

}  // namespace headway
