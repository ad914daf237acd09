// vtc: the Virtual Token Counter (Sheng et al., OSDI 2024), as Ying1123/VTC-artifact has it
// (slora/server/router/vtc_req_queue.py). Every tenant has a counter of the service it got: 1 for
// an input token, charged on admission, 2 for an output token, charged as it comes. Next is the
// oldest request of the waiting tenant with the smallest counter; where it does not fit, nobody
// overtakes. A tenant whose line was empty is lifted to the smallest counter among those waiting,
// so that idling earns no credit.
//
// The artifact admits by the peak that the running set's KV can reach; here KV is paged and
// preempted as in fcfs-nochunk (recomputed input is not charged again).
#include <algorithm>
#include <map>

#include "sim/scheduling/continuous_batching.h"
#include "sim/scheduling/policies.h"

namespace headway {
namespace {

constexpr std::int64_t kInputWeight = 1;
constexpr std::int64_t kOutputWeight = 2;

class VirtualTokenCounter final : public ContinuousBatching {
 public:
  explicit VirtualTokenCounter(const SchedulerConfig& config)
      : ContinuousBatching(config, make_paged_kv(config), config.engine.max_num_batched_tokens) {}

  std::vector<const Sequence*> waiting_sequences() const override {
    std::vector<const Sequence*> all;
    for (const auto& [id, tenant] : tenants_) tenant.line.append_to(all);
    return all;
  }

 protected:
  void enqueue(Sequence& sequence) override {
    Tenant& tenant = tenants_[sequence.request->tenant];
    if (tenant.line.empty()) lift(tenant);
    tenant.line.push(sequence, 0);
  }

  void dequeue(Sequence& sequence) override {
    tenants_[sequence.request->tenant].line.erase(sequence, 0);
  }

  Sequence* head(SimTime) override {
    const Tenant* least = nullptr;
    for (const auto& [id, tenant] : tenants_) {
      if (tenant.line.empty()) continue;
      if (least == nullptr || before(tenant, *least)) least = &tenant;
    }
    return least == nullptr ? nullptr : least->line.front();
  }

  bool head_changes() const override { return true; }  // every token counts

  void on_admitted(Sequence& sequence) override {
    tenants_[sequence.request->tenant].counter += kInputWeight * sequence.prompt_tokens;
  }

  void on_emitted(Sequence& sequence, std::int32_t tokens) override {
    tenants_[sequence.request->tenant].counter += kOutputWeight * tokens;
  }

  void on_steps_together(std::int64_t steps) override {
    for (auto& [id, tenant] : tenants_) tenant.counter += kOutputWeight * steps * tenant.gathered;
  }

  void on_gathered(Sequence& sequence) override { ++tenants_[sequence.request->tenant].gathered; }
  void on_scattered(Sequence& sequence) override { --tenants_[sequence.request->tenant].gathered; }

 private:
  struct Tenant {
    std::int64_t counter = 0;
    std::int64_t gathered = 0;  // of its sequences
    WaitingLine line;
  };

  static bool before(const Tenant& a, const Tenant& b) {
    if (a.counter != b.counter) return a.counter < b.counter;
    return a.line.front()->order < b.line.front()->order;
  }

  void lift(Tenant& idle) {
    const Tenant* least = nullptr;
    for (const auto& [id, tenant] : tenants_) {
      if (tenant.line.empty()) continue;
      if (least == nullptr || tenant.counter < least->counter) least = &tenant;
    }
    if (least != nullptr) idle.counter = std::max(idle.counter, least->counter);
  }

  std::map<std::int32_t, Tenant> tenants_;
};

}  // namespace

std::unique_ptr<Scheduler> make_vtc(const SchedulerConfig& config) {
  return std::make_unique<VirtualTokenCounter>(config);
}

}  // namespace headway
