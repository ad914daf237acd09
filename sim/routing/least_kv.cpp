#include "sim/routing/routers.h"

namespace headway {
namespace {

class LeastKv : public Router {
 public:
  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads, SimTime) override {
    return least_loaded(loads, [](const ReplicaLoad& load) { return load.kv_share; });
  }
};

}  // namespace

std::unique_ptr<Router> make_least_kv(const RouterConfig&) { return std::make_unique<LeastKv>(); }

}  // namespace headway
