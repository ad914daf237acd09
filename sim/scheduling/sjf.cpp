// sjf: a teaching policy, of no engine, and an oracle: it knows how long each answer will be. Next
// is the request with the least work left (tokens to compute plus tokens to emit); short of KV, the
// one with the most work left yields. The rest is fcfs-nochunk. It shows the least mean latency
// that reordering can buy, and what long requests pay for it.
#include "sim/scheduling/continuous_batching.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

class ShortestFirst final : public ContinuousBatching {
 public:
  explicit ShortestFirst(const SchedulerConfig& config)
      : ContinuousBatching(config, make_paged_kv(config), config.engine.max_num_batched_tokens) {}

 protected:
  std::int64_t rank(const Sequence& sequence) const override {
    const std::int64_t to_compute = sequence.known_tokens() - sequence.computed_tokens;
    return to_compute + output_goal(sequence) - sequence.output_tokens;
  }

  std::size_t victim(std::size_t index) const override {
    std::size_t worst = index;
    for (std::size_t i = index + 1; i < running_.size(); ++i) {
      if (rank(*running_[i]) >= rank(*running_[worst])) worst = i;  // of equals, the latest
    }
    return worst;
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_sjf(const SchedulerConfig& config) {
  return std::make_unique<ShortestFirst>(config);
}

}  // namespace headway
