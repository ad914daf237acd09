#pragma once

#include <memory>

#include "sim/scheduling/scheduler.h"

namespace headway {

// The factories of the policies, one a file. scheduler_table.cpp names each of them in one row;
// everything else (help, errors, contract tests) reads the table, not this list.
std::unique_ptr<Scheduler> make_vllm_v1(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_vllm_v0(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_sglang(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_static(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_orca(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_vllm_02(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_sarathi(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_trtllm(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_llamacpp(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_fcfs_nochunk(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_sjf(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_vtc(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_edf(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_block_diffusion(const SchedulerConfig& config);

// Not in the table: the published code with its faults, for replays (sarathi_serve.h).
std::unique_ptr<Scheduler> make_sarathi_as_recorded(const SchedulerConfig& config);
std::unique_ptr<Scheduler> make_vllm_02_as_recorded(const SchedulerConfig& config);

}  // namespace headway
