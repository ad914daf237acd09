#include <algorithm>

#include "sim/routing/routers.h"

namespace headway {
namespace {

class LeastOutstanding : public Router {
 public:
  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads, SimTime) override {
    const auto best = std::min_element(loads.begin(), loads.end(), [](auto& a, auto& b) {
      return a.outstanding < b.outstanding;  // the first of equals
    });
    return static_cast<std::size_t>(best - loads.begin());
  }
};

}  // namespace

std::unique_ptr<Router> make_least_outstanding(const RouterConfig&) {
  return std::make_unique<LeastOutstanding>();
}

}  // namespace headway
