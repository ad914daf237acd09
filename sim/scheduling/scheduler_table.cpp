#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scheduling/policies.h"
#include "sim/scheduling/scheduler.h"

namespace headway {

// The visible table: one row a policy. A new policy is one file, one declaration in policies.h and
// one row here.
std::span<const SchedulerEntry> scheduler_table() {
  static const std::vector<SchedulerEntry> kRows = {
      {"vllm-v1", "vLLM V1 0.16.0: running first, then admit; chunked prefill, preemption by recompute",
       make_vllm_v1},
  };
  return kRows;
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerConfig& config) {
  std::vector<std::string> names;
  for (const SchedulerEntry& row : scheduler_table()) {
    if (row.name == config.engine.scheduler) return row.make(config);
    names.emplace_back(row.name);
  }
  throw InputError({.place = "engine.scheduler",
                    .found = "\"" + config.engine.scheduler + "\"",
                    .expected = one_of(config.engine.scheduler, names)});
}

}  // namespace headway
