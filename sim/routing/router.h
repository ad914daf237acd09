#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/workload/request.h"

namespace headway {

// What a router may know of a replica when a request arrives.
struct ReplicaLoad {
  std::int64_t outstanding = 0;  // requests sent to it that have not left
};

// Chooses a replica for an arrival. Sees loads, never the future.
class Router {
 public:
  virtual ~Router() = default;
  // An index into `loads`, which is never empty.
  virtual std::size_t choose(const Request& request, std::span<const ReplicaLoad> loads) = 0;
};

struct RouterEntry {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Router> (*make)(std::uint64_t seed);
};
std::span<const RouterEntry> router_table();
// InputError that names the nearest entry when there is none.
std::unique_ptr<Router> make_router(const std::string& name, std::uint64_t seed);

}  // namespace headway
