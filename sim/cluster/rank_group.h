#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/sim_time.h"
#include "sim/cost/cost_model.h"
#include "sim/replica/replica.h"

namespace headway {

// What steps as one: a replica, or the data-parallel ranks of a model with experts. Each rank has its
// own scheduler and KV cache, but the experts are spread over all ranks, and a collective in every
// such layer lets none run ahead: their steps begin and end together, and a rank without work runs a
// dummy batch while another works (vLLM 0.19, v1/engine/core.py, DPEngineCoreProc). A rank's plan
// joins the next step that begins, so that a request finds an idle rank no sooner than the step that
// the others are in has ended.
//
// The calls are those of Replica, for all ranks at once. Ranks in step are simulated step by step, and
// looked at when each ends: runs of steps (skip_ahead) are laid out for a lone replica only.
class RankGroup {
 public:
  RankGroup(std::vector<std::unique_ptr<Replica>> ranks, std::shared_ptr<const CostModel> cost);

  std::size_t ranks() const { return ranks_.size(); }
  Replica& rank(std::size_t i) { return *ranks_[i]; }
  const Replica& rank(std::size_t i) const { return *ranks_[i]; }

  void submit(std::size_t rank, Request&& request, SimTime now, SimTime lost = {}) {
    ranks_[rank]->submit(std::move(request), now, lost);
  }
  bool may_plan() const { return lone() ? ranks_[0]->may_plan() : !stepping_; }
  SimTime start_steps(SimTime now) { return lone() ? ranks_[0]->start_steps(now) : start(now); }
  SimTime next_step_end() const { return lone() ? ranks_[0]->next_step_end() : end_; }
  SimTime look_at() { return lone() ? ranks_[0]->look_at() : end_; }
  void catch_up(SimTime now) {
    if (lone()) ranks_[0]->catch_up(now);
  }
  void advance(SimTime now) { lone() ? ranks_[0]->advance(now) : end(now); }

  // Steps that a rank took part in without work of its own.
  std::uint64_t dummy_steps() const { return dummy_steps_; }

 private:
  bool lone() const { return ranks_.size() == 1; }
  SimTime start(SimTime now);
  void begin_step(SimTime now);
  double decode_only_us();
  void end(SimTime now);

  std::vector<std::unique_ptr<Replica>> ranks_;
  std::shared_ptr<const CostModel> cost_;
  std::vector<StepShape> shapes_;
  bool stepping_ = false;
  SimTime end_ = SimTime::never();
  std::uint64_t dummy_steps_ = 0;
};

}  // namespace headway
