// Prompt tokens tell the work of a prefill better than the number of requests does: the queue that
// DistServe (OSDI'24) calls the shortest.
#include "sim/routing/routers.h"

namespace headway {
namespace {

class LeastTokens : public Router {
 public:
  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads, SimTime) override {
    return least_loaded(loads, [](const ReplicaLoad& load) { return load.prompt_tokens; });
  }
};

}  // namespace

std::unique_ptr<Router> make_least_tokens(const RouterConfig&) {
  return std::make_unique<LeastTokens>();
}

}  // namespace headway
