#include <array>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/routing/routers.h"

namespace headway {
namespace {

constexpr std::array kTable{
    RouterEntry{"round-robin", "each replica in turn", make_round_robin},
    RouterEntry{"random", "any replica, uniformly", make_random},
    RouterEntry{"least-outstanding", "the replica with the fewest requests sent and not answered",
                make_least_outstanding},
};

}  // namespace

std::span<const RouterEntry> router_table() { return kTable; }

const RouterEntry& find_router(const std::string& name) {
  std::vector<std::string> names;
  for (const RouterEntry& entry : kTable) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw InputError({"", "cluster.router", "\"" + name + "\"", one_of(name, names)});
}

}  // namespace headway
