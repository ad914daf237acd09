#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/scenario/scenario.h"
#include "sim/study/bottleneck.h"

namespace headway {

// Where a run's p99 TTFT and mean E2EL came from, its busiest minute, its slowest requests, and its
// first bottleneck with what was tried against it.
std::string causes_text(const ExplainedRun& run, const Bottleneck& bottleneck,
                        const Scenario& scenario);

// The same for programs.
nlohmann::ordered_json causes_json(const ExplainedRun& run, const Bottleneck& bottleneck);

}  // namespace headway
