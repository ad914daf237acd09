#pragma once

#include <memory>

#include "sim/scenario/scenario.h"
#include "sim/workload/request_source.h"

namespace headway {

// The source, which is to have what the scenario's router needs of its requests: a trace may lack it
// (of other workloads, check.h tells). InputError as with_needed_fact() has it.
std::unique_ptr<RequestSource> with_router_needs(const Scenario& scenario,
                                                 std::unique_ptr<RequestSource> source);

}  // namespace headway
