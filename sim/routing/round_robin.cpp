#include "sim/routing/routers.h"

namespace headway {
namespace {

class RoundRobin : public Router {
 public:
  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads) override {
    return next_++ % loads.size();
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_round_robin(std::uint64_t) { return std::make_unique<RoundRobin>(); }

}  // namespace headway
