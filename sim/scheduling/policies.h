#pragma once

#include <memory>

#include "sim/scheduling/scheduler.h"

namespace headway {

// The factories of the policies, one a file. scheduler_table.cpp names each of them in one row;
// everything else (help, errors, contract tests) reads the table, not this list.
std::unique_ptr<Scheduler> make_vllm_v1(const SchedulerConfig& config);

}  // namespace headway
