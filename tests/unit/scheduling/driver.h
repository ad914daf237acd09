#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/errors.h"
#include "sim/scheduling/scheduler.h"

namespace headway::testing {

// Runs a scheduler by hand, one step a call, one second a step. Requests are called A, B, C ... in
// order of arrival; a step reads like "C:p10 A:d1 B:d1 | preempted D | done B" (p prefill, d
// decode).
class Driver {
 public:
  explicit Driver(const SchedulerConfig& config) : scheduler_(make_scheduler(config)) {}

  Sequence& arrive(std::int32_t prompt, std::int32_t output, std::int32_t tenant = 0,
                   std::int32_t priority = 0) {
    Request request;
    request.prompt_tokens = prompt;
    request.output_tokens = output;
    request.tenant = tenant;
    request.priority = priority;
    request.session_id = std::exchange(next_session_, -1);
    return arrive(std::move(request));
  }

  Sequence& arrive(Request arriving) {  // its id is set
    Request& request = requests_.emplace_back(std::move(arriving));
    request.id = requests_.size() - 1;
    Sequence& sequence = sequences_.emplace_back(
        make_sequence(request, static_cast<std::uint32_t>(request.id), request.id, now_));
    scheduler_->add(sequence);
    return sequence;
  }

  std::string step() {
    scheduler_->plan(now_, plan_);
    scheduler_->check_kv();
    update_.clear();
    if (!plan_.empty()) scheduler_->complete(plan_, {}, update_);
    scheduler_->check_kv();
    now_ += SimTime::from_seconds(1);
    return text();
  }

  // The next arrival is a turn of this session.
  void next_session(std::int64_t session) { next_session_ = session; }

  Scheduler& scheduler() { return *scheduler_; }
  const StepPlan& plan() const { return plan_; }
  const StepUpdate& update() const { return update_; }
  SimTime now() const { return now_; }
  void wait_until(SimTime time) { now_ = time; }

 private:
  static char name(const Sequence* sequence) {
    return static_cast<char>('A' + sequence->request->id);
  }
  std::string text() const {
    std::string out;
    const auto space = [&out] {
      if (!out.empty()) out += ' ';
    };
    for (const ScheduledSequence& item : plan_.scheduled) {
      space();
      out += name(item.sequence);
      out += (item.prefill ? ":p" : ":d") + std::to_string(item.num_tokens);
    }
    const auto list = [&](const char* label, const std::vector<Sequence*>& sequences) {
      if (sequences.empty()) return;
      space();
      out += std::string("| ") + label;
      for (const Sequence* sequence : sequences) (out += ' ') += name(sequence);
    };
    list("preempted", plan_.preempted);
    std::vector<Sequence*> rejected;
    for (const Rejection& rejection : plan_.rejected) rejected.push_back(rejection.sequence);
    list("rejected", rejected);
    list("done", update_.finished);
    return out;
  }

  std::unique_ptr<Scheduler> scheduler_;
  std::deque<Request> requests_;
  std::deque<Sequence> sequences_;
  StepPlan plan_;
  StepUpdate update_;
  SimTime now_ = SimTime::from_ns(0);
  std::int64_t next_session_ = -1;
};

}  // namespace headway::testing
