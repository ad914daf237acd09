#include "sim/routing/routers.h"

namespace headway {
namespace {

class LeastOutstanding : public Router {
 public:
  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads, SimTime) override {
    return least_outstanding(loads);
  }
};

}  // namespace

std::unique_ptr<Router> make_least_outstanding(const RouterConfig&) {
  return std::make_unique<LeastOutstanding>();
}

}  // namespace headway
