// A session stays where its first turn went, the least loaded replica then: its history is in that
// replica's cache. It moves, for good, when that replica takes no requests: gone, or full.
#include <unordered_map>

#include "sim/routing/routers.h"

namespace headway {
namespace {

class SessionSticky : public Router {
 public:
  std::size_t choose(const Request& request, std::span<const ReplicaLoad> loads, SimTime) override {
    if (request.session_id < 0) return least_outstanding(loads);
    const auto home = homes_.find(request.session_id);
    if (home != homes_.end()) {
      const std::size_t there = index_of(loads, home->second);
      if (there < loads.size()) return there;
    }
    const std::size_t chosen = least_outstanding(loads);
    homes_[request.session_id] = loads[chosen].replica;
    return chosen;
  }

 private:
  std::unordered_map<std::int64_t, std::uint32_t> homes_;  // replica by session
};

}  // namespace

std::unique_ptr<Router> make_session_sticky(const RouterConfig&) {
  return std::make_unique<SessionSticky>();
}

}  // namespace headway
