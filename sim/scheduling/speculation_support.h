#pragma once

#include "sim/scheduling/scheduler.h"

namespace headway {

// For policies of engines that do not speculate: InputError when the scenario asks for drafts,
// rather than a run that silently makes none.
void refuse_speculation(const SchedulerConfig& config);

}  // namespace headway
