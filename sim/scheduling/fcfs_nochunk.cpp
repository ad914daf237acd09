// fcfs-nochunk: a teaching policy, of no engine. Orca's rule on paged KV (what the vLLM paper, Kwon
// et al. 2023, adds to Orca): decodes and whole prompts share a step, first come first served,
// within max_num_batched_tokens, a watermark kept free; short of KV, the latest admitted yields.
#include "sim/scheduling/continuous_batching.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

class FcfsNoChunk final : public ContinuousBatching {
 public:
  explicit FcfsNoChunk(const SchedulerConfig& config)
      : ContinuousBatching(config, make_paged_kv(config), config.engine.max_num_batched_tokens) {}
};

}  // namespace

std::unique_ptr<Scheduler> make_fcfs_nochunk(const SchedulerConfig& config) {
  return std::make_unique<FcfsNoChunk>(config);
}

}  // namespace headway
