// edf: a teaching policy, of no engine. Earliest deadline first, where a request's deadline is its
// arrival plus the TTFT limit of the scenario (slo.ttft_ms). One limit for all leaves the order of
// arrival, so what the rule changes is this: a request that has already missed its deadline no
// longer holds up those that can still make theirs, and waits behind them. A preempted request has
// had its first token; it goes ahead of all, since only its pace can still suffer. The rest is
// fcfs-nochunk.
#include "sim/scheduling/continuous_batching.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

class EarliestDeadline final : public ContinuousBatching {
 public:
  explicit EarliestDeadline(const SchedulerConfig& config)
      : ContinuousBatching(config, make_paged_kv(config), config.engine.max_num_batched_tokens),
        limit_(config.slo_ttft_ms > 0 ? SimTime::from_ms(config.slo_ttft_ms) : SimTime::never()) {}

  std::vector<const Sequence*> waiting_sequences() const override {
    std::vector<const Sequence*> all;
    for (const WaitingLine* line : {&resumed_, &on_time_, &late_}) line->append_to(all);
    return all;
  }

 protected:
  void enqueue(Sequence& sequence) override {
    if (sequence.output_tokens > 0) {
      resumed_.push(sequence, 0);
    } else if (deadline(sequence) < last_look_) {
      late_.push(sequence, 0);
    } else {
      on_time_.push(sequence, deadline(sequence));
    }
  }

  void dequeue(Sequence& sequence) override {
    if (sequence.output_tokens > 0) {
      resumed_.erase(sequence, 0);
    } else if (deadline(sequence) < last_look_) {
      late_.erase(sequence, 0);
    } else {
      on_time_.erase(sequence, deadline(sequence));
    }
  }

  Sequence* head(SimTime now) override {
    last_look_ = now.ns();
    while (!on_time_.empty() && on_time_.front_rank() < last_look_) {
      Sequence& missed = *on_time_.front();
      on_time_.erase(missed, on_time_.front_rank());
      late_.push(missed, 0);
    }
    for (const WaitingLine* line : {&resumed_, &on_time_, &late_}) {
      if (!line->empty()) return line->front();
    }
    return nullptr;
  }

  bool head_changes() const override { return true; }  // a deadline may pass

 private:
  std::int64_t deadline(const Sequence& sequence) const {
    if (limit_ == SimTime::never()) return limit_.ns();
    return (sequence.arrival + limit_).ns();
  }

  SimTime limit_;                // never: no limit was given, first come first served
  std::int64_t last_look_ = -1;  // ns; who is in late_ was settled then
  WaitingLine resumed_, on_time_, late_;
};

}  // namespace

std::unique_ptr<Scheduler> make_edf(const SchedulerConfig& config) {
  return std::make_unique<EarliestDeadline>(config);
}

}  // namespace headway
