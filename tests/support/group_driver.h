#pragma once

#include <algorithm>
#include <deque>
#include <memory>

#include "sim/scheduling/scheduler.h"
#include "sim/scheduling/sequence_group.h"

namespace headway {

// Requests with groups of sequences around one scheduler that forks, by hand.
class GroupDriver {
 public:
  struct Entry {
    Request request;
    std::deque<Sequence> sequences;
    SequenceGroup group;
  };

  explicit GroupDriver(const SchedulerConfig& config) : scheduler_(make_scheduler(config)) {}

  // A request of 1, `samples` or `beam_width` sequences joins.
  Entry& arrive(const Request& request, SimTime now = SimTime()) {
    Entry& e = entries_.emplace_back();
    e.request = request;
    e.request.id = entries_.size() - 1;
    e.group.beams = request.beam_width > 1;
    const std::int32_t count = std::max({request.samples, request.beam_width, 1});
    for (std::int32_t i = 0; i < count; ++i) {
      Sequence& s = e.sequences.emplace_back();
      s.request = &e.request;
      s.slot = slots_++;
      s.order = s.slot;
      s.arrival = now;
      s.prompt_tokens = request.prompt_tokens;
      s.max_tokens = request.max_tokens > 0 ? request.max_tokens : request.output_tokens;
      s.output_target = request.output_tokens;
      s.priority = request.priority;
      s.sample = i;
      if (count > 1) {
        s.group = &e.group;
        e.group.members.push_back(&s);
      }
    }
    scheduler_->add(e.sequences.front());
    scheduler_->check_kv();
    return e;
  }

  // A whole step, one in flight.
  void step() {
    scheduler_->plan(SimTime(), plan);
    scheduler_->check_kv();
    scheduler_->complete(plan, {}, update);
    scheduler_->check_kv();
  }

  Scheduler& scheduler() { return *scheduler_; }
  std::deque<Entry>& entries() { return entries_; }
  std::int64_t held() const { return scheduler_->kv_usage().held_blocks; }

  StepPlan plan;
  StepUpdate update;

 private:
  std::unique_ptr<Scheduler> scheduler_;
  std::deque<Entry> entries_;
  std::uint32_t slots_ = 0;
};

}  // namespace headway
