// orca: iteration-level batching (Yu et al., OSDI 2022), as microsoft/sarathi-serve 96f9911790ec
// runs it (sarathi/core/scheduler/orca_scheduler.py): each step is every running decode plus every
// waiting prompt, whole, first come first served, while a seat and a reservation are free. A
// reservation is max_model_len by default, so nothing is ever preempted, and no token budget
// applies.
//
// engine.kv_allocator compares the memory managers of Kwon et al. 2023 under this one rule; with
// "paged" the KV can run short, and then the latest admitted is preempted.
#include "sim/scheduling/continuous_batching.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

class Orca final : public ContinuousBatching {
 public:
  explicit Orca(const SchedulerConfig& config)
      : ContinuousBatching(config, make_kv_store(config, "reserve-max"), kNoBudget) {}
};

}  // namespace

std::unique_ptr<Scheduler> make_orca(const SchedulerConfig& config) {
  return std::make_unique<Orca>(config);
}

}  // namespace headway
