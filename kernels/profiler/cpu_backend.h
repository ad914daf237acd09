#pragma once

#include <memory>

#include "kernels/profiler/backend.h"

namespace headway::kernels {

struct CpuOptions {
  int threads = 1;          // that the calls themselves use; for the busy share
  double rotate_bytes = 0;  // 0 = a quarter more than the last-level cache
  double shortest_sample_s = 0.0005;
};

// Keeps freed memory in this process, so that the buffers of the next point need no fresh pages (a
// fifth of a quick profile's time otherwise). For a program that only profiles.
void keep_freed_memory();

// This machine's CPU: calls in a loop over buffers that together exceed the last-level cache, timed
// by the steady clock beside the process's CPU time.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options = {});

}  // namespace headway::kernels
