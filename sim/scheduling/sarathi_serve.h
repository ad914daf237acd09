#pragma once

#include <memory>
#include <vector>

#include "sim/scheduling/batch_scheduler.h"

namespace headway {

// What the paged schedulers of microsoft/sarathi-serve 96f9911790ec share (sarathi/core/scheduler/
// {sarathi,vllm}_scheduler.py, block_space_manager/base_block_space_manager.py), which are those of
// vLLM 0.2: sequences are visited in order of arrival; a decode wants one free block even where its
// last block has room; short of it, the last sequence not yet visited is preempted by recompute
// (the visited one itself, where it is the last), and nothing is admitted in that step.
//
// Behaviour::kAsRecorded adds what the published code does and no simulation should: a preempted
// sequence counts its output from zero again and so emits more than it was asked for; decodes may
// exceed the token budget. It exists for the replay of recorded schedules only.
class SarathiServe : public BatchScheduler {
 public:
  enum class Behaviour { kSound, kAsRecorded };

 protected:
  SarathiServe(const SchedulerConfig& config, Behaviour behaviour)
      : BatchScheduler(config, make_paged_kv(config)), behaviour_(behaviour) {}

  bool as_recorded() const { return behaviour_ == Behaviour::kAsRecorded; }
  std::int32_t token_budget() const { return engine_.max_num_batched_tokens; }

  // Visits the running sequences: decodes go into the plan; those still prefilling are returned (in
  // order) and are off the running list until the caller puts them back. Valid until the next call.
  std::vector<Sequence*>& decode_running(StepPlan& plan);

  bool decode_needs_free_block() const override { return true; }
  bool decodes_by_arrival() const override { return true; }
  void on_preempted(Sequence& sequence) override;
  std::int32_t output_goal(const Sequence& sequence) const override;

 private:
  void take_unvisited(StepPlan& plan);
  Sequence* take_victim(std::size_t first);
  bool decode_or_yield(Sequence& sequence, std::size_t next, StepPlan& plan);

  Behaviour behaviour_;
  std::vector<Sequence*> unvisited_;  // buffers of decode_running
  std::vector<Sequence*> prefills_;
  std::vector<std::pair<const Sequence*, std::int32_t>> restarted_at_;  // by slot, kAsRecorded only
};

}  // namespace headway
