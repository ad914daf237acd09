#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "sim/routing/router.h"

namespace headway {

std::unique_ptr<Router> make_round_robin(const RouterConfig&);
std::unique_ptr<Router> make_random(const RouterConfig&);
std::unique_ptr<Router> make_least_outstanding(const RouterConfig&);
std::unique_ptr<Router> make_least_tokens(const RouterConfig&);
std::unique_ptr<Router> make_least_kv(const RouterConfig&);
std::unique_ptr<Router> make_power_of_two(const RouterConfig&);
std::unique_ptr<Router> make_cache_aware(const RouterConfig&);
std::unique_ptr<Router> make_session_sticky(const RouterConfig&);
std::unique_ptr<Router> make_priority(const RouterConfig&);

std::span<const RouterOption> cache_aware_options();

// The first of those with the least of `measure`, of those with the fewest requests outstanding.
template <typename Measure>
std::size_t least_loaded(std::span<const ReplicaLoad> loads, Measure measure) {
  const auto best = std::min_element(loads.begin(), loads.end(), [&](auto& a, auto& b) {
    const auto of_a = measure(a), of_b = measure(b);
    return of_a != of_b ? of_a < of_b : a.outstanding < b.outstanding;
  });
  return static_cast<std::size_t>(best - loads.begin());
}
// Where a replica is among them; their number where it is not.
inline std::size_t index_of(std::span<const ReplicaLoad> loads, std::uint32_t replica) {
  const auto place = std::lower_bound(
      loads.begin(), loads.end(), replica,
      [](const ReplicaLoad& load, std::uint32_t number) { return load.replica < number; });
  const bool there = place != loads.end() && place->replica == replica;
  return there ? static_cast<std::size_t>(place - loads.begin()) : loads.size();
}
inline std::size_t least_outstanding(std::span<const ReplicaLoad> loads) {
  return least_loaded(loads, [](const ReplicaLoad& load) { return load.outstanding; });
}

}  // namespace headway
