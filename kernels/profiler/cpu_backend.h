#pragma once

#include <memory>

#include "kernels/profiler/backend.h"

namespace headway::kernels {

struct CpuOptions {
  int threads = 1;          // that the calls themselves use; for the busy share
  double rotate_bytes = 0;  // 0 = twice the last-level cache
  double shortest_sample_s = 0.0005;
};

// This machine's CPU: calls in a loop over buffers that together exceed the last-level cache, timed
// by the steady clock beside the process's CPU time.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options = {});

}  // namespace headway::kernels
