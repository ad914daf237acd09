// Pools that compute prompts and pools that decode: whether they make a cluster.
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scenario/check.h"
#include "sim/scenario/pools.h"
#include "sim/scheduling/scheduler.h"

namespace headway {
namespace {

class RoleChecker {
 public:
  RoleChecker(const Scenario& scenario, const PlaceOf& place_of)
      : s_(scenario), cluster_(scenario.cluster), place_of_(place_of) {}

  void check() const {
    if (cluster_.transfer.rule.empty()) return without_rule();
    if (cluster_.pools.empty()) {
      fail("cluster.disaggregation", "replicas that are alike",
           "cluster.pools with the roles prefill and decode");
    }
    bool prefill = false, decode = false;
    for (std::size_t i = 0; i < cluster_.pools.size(); ++i) {
      const PoolOptions& pool = cluster_.pools[i];
      if (pool.role == "both") {
        fail(key(i, "role"), "\"both\"", "prefill or decode, as cluster.disaggregation is on");
      }
      (pool.role == "prefill" ? prefill : decode) = true;
      if (pool.replicas < 1) fail(key(i, "replicas"), "0", "at least 1");
      scheduler(i);
    }
    if (!prefill || !decode) {
      fail("cluster.pools", prefill ? "no pool that decodes" : "no pool that computes prompts",
           "a pool with each of the roles prefill and decode");
    }
    if (fleet_changes(s_)) {
      fail("cluster.disaggregation", "replicas that come, go or fail beside it",
           "a fleet that stays as it is, or one without disaggregation");
    }
  }

 private:
  static std::string key(std::size_t pool, const std::string& name) {
    return "cluster.pools[" + std::to_string(pool) + "]." + name;
  }
  [[noreturn]] void fail(const std::string& key, const std::string& found,
                         const std::string& expected) const {
    const std::string where = place_of_(key);
    throw InputError({where.starts_with("--") ? "command line" : s_.file, where, found, expected});
  }

  void without_rule() const {
    for (std::size_t i = 0; i < cluster_.pools.size(); ++i) {
      const std::string& role = cluster_.pools[i].role;
      if (role == "both") continue;
      fail(key(i, "role"), "\"" + role + "\"",
           "\"both\", or a rule in cluster.disaggregation: distserve or splitwise");
    }
  }

  // Its scheduler does its part; that of samples and tiers is the same as elsewhere.
  void scheduler(std::size_t pool) const {
    const bool decodes = cluster_.pools[pool].role == "decode";
    const std::string& name = cluster_.pools[pool].own->engine.scheduler;
    const auto fits = [&](const SchedulerEntry& row) {
      return decodes ? row.receives_kv : row.hands_over_kv;
    };
    if (fits(find_scheduler(name))) return;
    std::vector<std::string> names;
    for (const SchedulerEntry& row : scheduler_table()) {
      if (fits(row)) names.emplace_back(row.name);
    }
    fail(key(pool, "engine.scheduler"), "\"" + name + "\"",
         one_of("", names) + ": those that " +
             (decodes ? "take in a prompt's KV" : "keep a prompt's KV until it has been sent"));
  }

  const Scenario& s_;
  const ClusterOptions& cluster_;
  const PlaceOf& place_of_;
};

}  // namespace

void check_roles(const Scenario& scenario, const PlaceOf& place_of) {
  RoleChecker(scenario, place_of).check();
}

}  // namespace headway
