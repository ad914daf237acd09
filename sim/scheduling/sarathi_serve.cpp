#include "sim/scheduling/sarathi_serve.h"

#include <algorithm>
#include <limits>

namespace headway {

// Plans the gathered, which stay in running_; the others are to be visited, in order of arrival.
void SarathiServe::take_unvisited(StepPlan& plan) {
  const auto decodes = [this](const Sequence* s) { return !in_flight(*s) && !prefilling(*s); };
  auto others = running_.begin() + static_cast<std::ptrdiff_t>(gathered());
  const std::int64_t budget =
      as_recorded() ? std::numeric_limits<std::int64_t>::max() : token_budget();
  const std::size_t visited =
      plan_gathered(budget, std::count_if(others, running_.end(), decodes), plan);
  others = running_.begin() + static_cast<std::ptrdiff_t>(visited);
  unvisited_.assign(others, running_.end());
  running_.erase(others, running_.end());
  const auto by_arrival = [](const Sequence* a, const Sequence* b) { return a->order < b->order; };
  if (!std::is_sorted(unvisited_.begin(), unvisited_.end(), by_arrival)) {
    std::sort(unvisited_.begin(), unvisited_.end(), by_arrival);
  }
}

std::vector<Sequence*>& SarathiServe::decode_running(StepPlan& plan) {
  prefills_.clear();
  take_unvisited(plan);
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
    plan.yielded_for(sequence);
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
