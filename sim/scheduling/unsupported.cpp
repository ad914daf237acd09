#include "sim/scheduling/unsupported.h"

#include <string>

#include "sim/core/errors.h"

namespace headway {

void refuse_v1_features(const SchedulerConfig& config) {
  const std::string who = "scheduler " + config.engine.scheduler;
  if (config.num_speculative_tokens > 0) {
    throw InputError({.place = "speculation.method",
                      .found = "\"" + std::string(config.speculation) + "\"",
                      .expected = "\"\" (" + who + " does not speculate)"});
  }
  if (config.engine.async_scheduling) {
    throw InputError({.place = "engine.async_scheduling",
                      .found = "true",
                      .expected = "false (" + who + " plans a step when the last one is known)"});
  }
}

}  // namespace headway
