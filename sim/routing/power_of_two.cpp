// Mitzenmacher's two choices, as SGLang's gateway has them (policies/power_of_two.rs): two different
// replicas at random, the less loaded of them, the first drawn of equals.
#include "sim/core/random.h"
#include "sim/routing/routers.h"

namespace headway {
namespace {

class PowerOfTwo : public Router {
 public:
  explicit PowerOfTwo(std::uint64_t seed) : stream_(seed, "router") {}

  std::size_t choose(const Request&, std::span<const ReplicaLoad> loads, SimTime) override {
    const std::int64_t count = std::ssize(loads);
    if (count == 1) return 0;
    const auto first = static_cast<std::size_t>(stream_.uniform_int(0, count - 1));
    auto second = static_cast<std::size_t>(stream_.uniform_int(0, count - 2));
    if (second >= first) ++second;
    return loads[first].outstanding <= loads[second].outstanding ? first : second;
  }

 private:
  RandomStream stream_;
};

}  // namespace

std::unique_ptr<Router> make_power_of_two(const RouterConfig& config) {
  return std::make_unique<PowerOfTwo>(config.seed);
}

}  // namespace headway
