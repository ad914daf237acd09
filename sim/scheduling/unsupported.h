#pragma once

#include "sim/scheduling/scheduler.h"

namespace headway {

// For policies of engines that neither speculate nor schedule asynchronously: InputError when the
// scenario asks for either, rather than a run that silently ignores it.
void refuse_v1_features(const SchedulerConfig& config);

}  // namespace headway
