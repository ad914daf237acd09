#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/study/sweep_folder.h"

namespace headway {

// Whether this program was built with MPI (HEADWAY_MPI at configure time).
bool built_with_mpi();

// What one process of an MPI job does. Only sweep_mpi.cpp knows MPI.
struct MpiJob {
  // Rank 0, before any point: the numbers of the points, in the order to run.
  std::function<std::vector<std::int64_t>()> prepare;
  // Any rank, any thread: runs one. All ranks must see the same files.
  std::function<PointStatus(std::int64_t)> run;
  std::function<void(PointStatus)> done;  // rank 0, one call at a time
  int threads_alone = 1;  // of rank 0 when it has no others; a rank has one otherwise
};

// Runs the job with all ranks: each pulls its next point from rank 0, which works along. Returns
// whether this is rank 0. What prepare() throws leaves on rank 0 alone, after all ranks have ended;
// what run() throws leaves on its rank, and the others go on. REQUIRES: built_with_mpi().
bool run_on_mpi(const MpiJob& job);

}  // namespace headway
