#include "sim/core/random.h"
#include "sim/routing/routers.h"

namespace headway {
namespace {

class RandomRouter : public Router {
 public:
  explicit RandomRouter(std::uint64_t seed) : stream_(seed, "router") {}
  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads, SimTime) override {
    return static_cast<std::size_t>(stream_.uniform_int(0, std::ssize(loads) - 1));
  }

 private:
  RandomStream stream_;
};

}  // namespace

std::unique_ptr<Router> make_random(const RouterConfig& config) {
  return std::make_unique<RandomRouter>(config.seed);
}

}  // namespace headway
