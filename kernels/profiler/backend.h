#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/registry.h"

namespace headway::kernels {

// What a profile says of the device it was measured on.
struct Device {
  std::string kind;  // "cuda", "cpu"
  std::string name;  // as the driver or the kernel has it: "NVIDIA H200"
  std::string gpu;   // the simulator's catalogue name: "h200-sxm", "cpu"
  std::map<std::string, std::string> facts;  // driver, compute capability, cache sizes, threads ...
  double cache_bytes = 0;   // the last level; buffers rotate beyond it
  double memory_bytes = 0;  // free for buffers
  // Rough peaks, only to leave calls out of a grid that would take too long.
  double flops = 0, bytes_per_s = 0;
};

// One timing: the mean of enough calls to last at least the backend's shortest sample.
struct Sample {
  double us = 0;         // of one call, or of one whole sequence
  double clock_mhz = 0;  // of the device while it ran; 0 = not known
  double busy = 1;       // CPU time over wall time; below 0.97 something else ran
};

// A call, or a sequence of calls, whose buffers are there and warm.
class PointTimer {
 public:
  virtual ~PointTimer() = default;
  virtual Sample sample() = 0;
};

// Calls that are timed as one. Each launch of a part uses the next of its buffer sets.
struct Sequence {
  struct Part {
    const KernelEntry* entry;
    Case call;
  };
  std::vector<Part> parts;
  std::vector<int> order;  // indices into parts, in the order of their launches
};
inline Sequence single(const KernelEntry& entry, Case call) {
  return {{{&entry, std::move(call)}}, {0}};
}

// The point asks for more memory than there is: it is left out, not an error.
class DoesNotFit : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A device that can be timed, with its own clock; tests have one of known noise.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Device& device() const = 0;
  // How calls are launched and caches treated, for the profile: "cuda graph, weights cold ...".
  virtual std::string method() const = 0;
  virtual double now_s() = 0;
  // Allocates, fills, warms up (3 samples thrown away). Throws DoesNotFit.
  virtual std::unique_ptr<PointTimer> prepare(const Sequence& sequence, std::uint64_t seed) = 0;
  // Time of one large copy in device memory, as a second sentinel.
  virtual double copy_us() = 0;
  // What lies around kernels, by the names that profiles use ("kernel_launch_us", ...).
  virtual std::map<std::string, double> overheads() = 0;
  // What the device's own tool said once a second, for the record; empty where there is none.
  virtual std::vector<std::string> log_columns() const { return {}; }
  virtual std::vector<std::vector<std::string>> log_rows() const { return {}; }
};

}  // namespace headway::kernels
