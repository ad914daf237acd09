#include "sim/routing/routers.h"

namespace headway {
namespace {

class RoundRobin : public Router {
 public:
  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads, SimTime) override {
    return next_++ % loads.size();
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_round_robin(const RouterConfig&) { return std::make_unique<RoundRobin>(); }

}  // namespace headway
