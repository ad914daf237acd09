// What stands in a request's way at an engine that serves by priority is what is at least as urgent:
// the replica with the fewest of those.
#include <map>
#include <unordered_map>

#include "sim/core/errors.h"
#include "sim/routing/routers.h"

namespace headway {
namespace {

class PriorityRouter : public Router {
 public:
  std::size_t choose(const Request& request, std::span<const ReplicaLoad> loads, SimTime) override {
    const std::size_t chosen = least_loaded(loads, [&](const ReplicaLoad& load) {
      return in_the_way(load.replica, request.priority);
    });
    ++outstanding_[loads[chosen].replica][request.priority];
    priorities_[request.id] = request.priority;
    return chosen;
  }

  void on_leave(std::uint64_t request, std::uint32_t replica) override {
    const auto sent = priorities_.find(request);
    SIM_CHECK(sent != priorities_.end(), "a request leaves that was not sent");
    Counts& counts = outstanding_[replica];
    const auto count = counts.find(sent->second);
    SIM_CHECK(count != counts.end(), "a request leaves a replica that it was not sent to");
    if (--count->second == 0) counts.erase(count);
    priorities_.erase(sent);
  }

 private:
  using Counts = std::map<std::int32_t, std::int64_t>;  // outstanding requests by priority

  std::int64_t in_the_way(std::uint32_t replica, std::int32_t priority) const {
    const auto there = outstanding_.find(replica);
    if (there == outstanding_.end()) return 0;
    std::int64_t sum = 0;
    for (const auto& [level, count] : there->second) {
      if (level > priority) break;
      sum += count;
    }
    return sum;
  }

  std::unordered_map<std::uint32_t, Counts> outstanding_;         // by replica
  std::unordered_map<std::uint64_t, std::int32_t> priorities_;    // by request
};

}  // namespace

std::unique_ptr<Router> make_priority(const RouterConfig&) {
  return std::make_unique<PriorityRouter>();
}

}  // namespace headway
