#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headway {

// One of `count` equal parts of a plan's points.
struct Shard {
  std::int64_t index = 0, count = 1;
  std::string source;  // "SLURM_ARRAY_TASK_ID", "--shard" ...; "" = the whole plan
};

// "3/16": the fourth of sixteen. InputError for anything else.
Shard parse_shard(const std::string& text);

// What a cluster's launcher says in the environment; nullopt when it says nothing. `get` is
// std::getenv, or a test's.
//   Slurm array         SLURM_ARRAY_TASK_ID, _MIN, _STEP, _COUNT
//   srun                SLURM_PROCID, SLURM_STEP_NUM_TASKS. Not SLURM_NTASKS: a batch script that
//                       runs one process has that too, and would do one part and leave the rest
//   Open MPI's mpirun   OMPI_COMM_WORLD_RANK, _SIZE (a process each, without MPI calls)
//   Kubernetes          JOB_COMPLETION_INDEX of an Indexed Job, and HEADWAY_SHARD_COUNT, to be set
//                       in the manifest to spec.completions, which a pod is not told
// A Slurm array of srun or mpirun steps is divided by both. InputError: numbers that make no part.
std::optional<Shard> shard_from_environment(
    const std::function<const char*(const char*)>& get);

// The shard's points, in the order to run them. All `count` numbers are shuffled first, always the
// same way: so parts are alike however the axes repeat, and the time left can be told from the time
// gone.
std::vector<std::int64_t> shard_points(std::int64_t count, const Shard& shard);

}  // namespace headway
