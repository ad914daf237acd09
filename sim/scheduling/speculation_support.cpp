#include "sim/scheduling/speculation_support.h"

#include <string>

#include "sim/core/errors.h"

namespace headway {

void refuse_speculation(const SchedulerConfig& config) {
  if (config.num_speculative_tokens == 0) return;
  throw InputError(
      {.place = "speculation.method",
       .found = "\"" + std::string(config.speculation) + "\"",
       .expected = "\"\" (scheduler " + config.engine.scheduler + " does not speculate)"});
}

}  // namespace headway
