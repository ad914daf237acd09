#include "sim/cluster/rank_group.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/core/errors.h"

namespace headway {

RankGroup::RankGroup(std::vector<std::unique_ptr<Replica>> ranks,
                     std::shared_ptr<const CostModel> cost)
    : ranks_(std::move(ranks)), cost_(std::move(cost)), shapes_(ranks_.size()) {
  SIM_CHECK(!ranks_.empty());
}

SimTime RankGroup::start(SimTime now) {
  SIM_CHECK(!stepping_, "ranks in step plan between steps");
  SimTime wake_at = SimTime::never();
  for (const auto& rank : ranks_) {
    if (rank->may_plan()) wake_at = std::min(wake_at, rank->start_steps(now));
  }
  begin_step(now);
  return wake_at;
}

// The ranks meet in every layer with experts: the step takes what the slowest rank's takes.
void RankGroup::begin_step(SimTime now) {
  bool any = false, prefill = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    shapes_[i].clear();
    if (!ranks_[i]->has_planned()) continue;
    ranks_[i]->planned_shape(shapes_[i]);
    any = true;
    prefill = prefill || !shapes_[i].prefill.empty();
  }
  if (!any) return;
  cost_->align(shapes_);
  std::vector<StepCost> costs(ranks_.size());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i]->has_planned()) costs[i] = cost_->price(shapes_[i]);
  }
  const double without_prefill =
      prefill ? decode_only_us() : std::numeric_limits<double>::infinity();
  SimTime longest;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i]->has_planned()) {
      ++dummy_steps_;
    } else {
      longest = std::max(longest, ranks_[i]->price_planned(costs[i], without_prefill));
    }
  }
  stepping_ = true;
  end_ = now + longest;
  for (const auto& rank : ranks_) {
    if (rank->has_planned()) rank->begin_planned(now, end_);
  }
}

// The step of all ranks if none of them had a prompt in it; 0 = nobody decodes.
double RankGroup::decode_only_us() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    shapes_[i].clear();
    if (ranks_[i]->has_planned()) ranks_[i]->planned_decodes(shapes_[i]);
  }
  cost_->align(shapes_);
  double slowest = 0;
  for (const StepShape& shape : shapes_) {
    if (shape.decode_sequences > 0) slowest = std::max(slowest, cost_->price(shape).gpu_us);
  }
  return slowest;
}

void RankGroup::end(SimTime now) {
  SIM_CHECK(stepping_ && now == end_, "a step of ranks ends on time");
  stepping_ = false;
  end_ = SimTime::never();
  for (const auto& rank : ranks_) {
    if (rank->next_step_end() == now) rank->end_step(now);
  }
}

}  // namespace headway
