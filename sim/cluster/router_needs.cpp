#include "sim/cluster/router_needs.h"

#include <string>
#include <utility>

#include "sim/routing/router.h"
#include "sim/workload/needed_facts.h"
#include "sim/workload/prompt_runs.h"

namespace headway {

std::unique_ptr<RequestSource> with_router_needs(const Scenario& scenario,
                                                 std::unique_ptr<RequestSource> source) {
  const std::string& router = scenario.cluster.router;
  const auto need = [&](bool (*has)(const Request&), const std::string& lack,
                        const std::string& expected) {
    return with_needed_fact(std::move(source), has,
                            {scenario.file, "cluster.router",
                             "\"" + router + "\" on a trace in which no request " + lack,
                             expected + ", or another router"});
  };
  if (scenario.workload.trace.empty()) return source;
  switch (find_router(router).need) {
    case RouterNeed::kNothing:
      return source;
    case RouterNeed::kContent:
      return need(names_content, "names its content", "hash_ids, prefix_group or session_id");
    case RouterNeed::kSessions:
      return need([](const Request& r) { return r.session_id >= 0; }, "has a session", "session_id");
    case RouterNeed::kPriorities:
      return need([](const Request& r) { return r.priority != 0; }, "has a priority other than 0",
                  "priority");
  }
  return source;
}

}  // namespace headway
