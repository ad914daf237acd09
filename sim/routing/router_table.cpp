#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/routing/routers.h"

namespace headway {
namespace {

// The visible table: one row a router. A new one is one file, one declaration in routers.h and one row.
const std::vector<RouterEntry>& table() {
  static const std::vector<RouterEntry> kRows = {
      {.name = "round-robin", .help = "each replica in turn", .make = make_round_robin},
      {.name = "random", .help = "any replica, uniformly", .make = make_random},
      {.name = "least-outstanding",
       .help = "the replica with the fewest requests sent and not answered",
       .make = make_least_outstanding},
      {.name = "least-tokens",
       .help = "DistServe's shortest queue: the fewest prompt tokens sent and not answered",
       .make = make_least_tokens},
      {.name = "least-kv",
       .help = "the replica with the lowest share of its KV blocks held, then the fewest requests",
       .make = make_least_kv,
       .reads_kv = true},
      {.name = "power-of-two",
       .help = "SGLang's: the less loaded of two different replicas drawn at random",
       .make = make_power_of_two},
      {.name = "cache-aware",
       .help = "SGLang's: the replica that was sent most of the prompt before, unless loads differ",
       .make = make_cache_aware,
       .need = RouterNeed::kContent,
       .options = cache_aware_options()},
      {.name = "session-sticky",
       .help = "where the session's first turn went: to the least loaded replica of then",
       .make = make_session_sticky,
       .need = RouterNeed::kSessions},
      {.name = "priority",
       .help = "the replica with the fewest requests at least as urgent as this one",
       .make = make_priority,
       .hears_leaving = true,
       .need = RouterNeed::kPriorities},
  };
  return kRows;
}

}  // namespace

std::span<const RouterEntry> router_table() { return table(); }

const RouterEntry& find_router(const std::string& name) {
  std::vector<std::string> names;
  for (const RouterEntry& entry : table()) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw InputError({"", "cluster.router", "\"" + name + "\"", one_of(name, names)});
}

}  // namespace headway
