#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/core/sim_time.h"
#include "sim/workload/request.h"

namespace headway {

// What a router may know of a replica when a request arrives.
struct ReplicaLoad {
  std::uint32_t replica = 0;       // its number in the fleet: the same for as long as the run lasts
  std::int64_t outstanding = 0;    // requests sent to it that have not left
  std::int64_t prompt_tokens = 0;  // of those requests
  double kv_share = 0;             // of its KV blocks, held now; only where RouterEntry::reads_kv
};

// Chooses a replica for an arrival. Sees loads, never the future.
class Router {
 public:
  virtual ~Router() = default;
  // An index into `loads`, the replicas that take requests now: never empty, in order of number.
  // Between calls replicas may come and go.
  virtual std::size_t choose(const Request& request, std::span<const ReplicaLoad> loads,
                             SimTime now) = 0;
  // A request has left the replica (answered, refused, lost); only where RouterEntry::hears_leaving.
  virtual void on_leave(std::uint64_t /*request*/, std::uint32_t /*replica*/) {}
  // A replica is no more, with all that was in its memory; one of that number may come later.
  virtual void on_gone(std::uint32_t /*replica*/) {}
};

// A key of `cluster.router_options` that a router reads: a number.
struct RouterOption {
  std::string_view name;
  std::string_view help;
  double low = 0, high = 0;  // both included
  double initial = 0;        // where it is not given
  bool whole = false;
};
using RouterOptions = std::map<std::string, double, std::less<>>;  // those that are given

struct RouterConfig {
  std::uint64_t seed = 0;
  RouterOptions options = {};

  double value(const RouterOption& option) const {
    const auto given = options.find(option.name);
    return given == options.end() ? option.initial : given->second;
  }
};

// What a router needs its requests to say; without it, it would be another router in disguise.
enum class RouterNeed : std::uint8_t { kNothing, kContent, kSessions, kPriorities };

struct RouterEntry {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Router> (*make)(const RouterConfig&);
  bool reads_kv = false;       // looks at ReplicaLoad::kv_share
  bool hears_leaving = false;  // on_leave() is called
  RouterNeed need = RouterNeed::kNothing;
  std::span<const RouterOption> options = {};
};
std::span<const RouterEntry> router_table();
// InputError that names the nearest entry when there is none.
const RouterEntry& find_router(const std::string& name);

}  // namespace headway
