// static: request-level batching, as FasterTransformer served (and Yu et al., OSDI 2022, describe
// it); the admission rule is microsoft/sarathi-serve 96f9911790ec's
// (sarathi/core/scheduler/faster_transformer_scheduler.py). A batch is formed only when nothing
// runs, of the oldest waiting requests that get a seat and a reservation, and is decoded until its
// last member ends; nobody joins meanwhile.
//
// A batch waits to be full: batch_size requests (max_num_seqs where it is 0, and no more than the
// KV can reserve for), or until the oldest has waited batch_timeout_ms. A member that ends early
// frees its reservation at once, or at the end of the batch with release_at_batch_end (as Vidur has
// it). Padding of prompts to the longest is not modelled, nor is decoding of ended members.
#include <algorithm>

#include "sim/scheduling/continuous_batching.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

SchedulerConfig with_batch_as_cap(SchedulerConfig config) {
  EngineOptions& engine = config.engine;
  if (engine.batch_size > 0) engine.max_num_seqs = std::min(engine.max_num_seqs, engine.batch_size);
  return config;
}

class StaticBatching final : public ContinuousBatching {
 public:
  explicit StaticBatching(const SchedulerConfig& config)
      : ContinuousBatching(config, make_kv_store(config, "reserve-max"), kNoBudget),
        batch_size_(std::min<std::int64_t>(engine_.max_num_seqs, kv_->max_sequences())),
        timeout_(SimTime::from_ms(engine_.batch_timeout_ms)) {}

 protected:
  void decide(SimTime now, StepPlan& plan) override {
    if (running() > 0) {
      decode_running(plan);
      if (waiting() > 0) plan.hold_back(*head(now), HeldBack::kPolicy);
    } else if (waiting() >= batch_size_) {
      admit_waiting(now, plan);
    } else if (const Sequence* oldest = head(now)) {
      const SimTime deadline = oldest->arrival + timeout_;
      if (now >= deadline) {
        admit_waiting(now, plan);
      } else {
        plan.wake_at = deadline;
        plan.hold_back(*oldest, HeldBack::kPolicy);
      }
    }
  }

  bool admits_to_running() const override { return false; }

  void release_finished(Sequence& sequence) override {
    if (engine_.release_at_batch_end) {
      kv_->retain(sequence.slot);
    } else {
      kv_->release(sequence.slot);
    }
  }

  void on_idle() override { kv_->release_retained(); }

 private:
  std::int64_t batch_size_;
  SimTime timeout_;
};

}  // namespace

std::unique_ptr<Scheduler> make_static(const SchedulerConfig& config) {
  return std::make_unique<StaticBatching>(with_batch_as_cap(config));
}

}  // namespace headway
