#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/stream.h"

// What a kernel file says of itself, so that one test runner can check it and one profiler can time
// it, on a GPU, on a CPU and (checks only) under the emulator. Plain C++: host code includes it
// without CUDA.
namespace headway::kernels {

// One comparison with the double-precision reference.
struct CheckResult {
  std::string what;      // "bf16, head_dim 128, 17 ragged sequences"
  double error = 0;      // relative to the reference's largest magnitude, unless `what` says so
  double tolerance = 0;
  bool ok() const { return error <= tolerance; }  // false for a NaN
};

// As in sim/cost/profile.h: "weights" -> "int4", "kv" -> "bf16", "head_dim" -> "128", ... Dtypes by
// the simulator's names (sim/core/dtype.h): bf16 fp16 fp32 fp8 int8 int4.
using Variant = std::map<std::string, std::string>;

// One call to be timed: a row of the op's table.
struct Case {
  std::vector<std::int64_t> key;  // along the op's axes, in the order that profile_axes(op) has
  // KV tokens of each sequence (attention over a cache only), for a ragged batch. Empty: all as the
  // key says. Their number is the key's batch; their mean need not be the key's length.
  std::vector<std::int64_t> lengths;
};

// What one call asks of the device, and what has to be allocated for it.
struct Work {
  double flops = 0;
  double bytes = 0;          // that must cross the memory bus at least once
  double rotated_bytes = 0;  // one set of what is cold in a real model: weights, KV pages, states
  double shared_bytes = 0;   // allocated once beside the sets: activations, workspace
};

// Buffers for one case, filled with normal random values (never zeros; page tables permuted).
// `copies` sets of weights or KV, activations in place: weights cold, activations warm, as a layer
// of a real model finds them. Frees everything on destruction.
class Prepared {
 public:
  virtual ~Prepared() = default;
  // Queues one call on set `copy` (0 .. copies - 1). Called thousands of times and while a CUDA
  // graph is captured: no allocation, no synchronisation, no host copy. Throws on a launch error.
  virtual void launch(int copy, Stream stream) = 0;
};

// One variant of one kernel by one implementation.
struct KernelEntry {
  std::string name;   // as its file is named: "paged_decode_attention"
  std::string op;     // an op of sim/cost/profile.h: "attn_decode"; its axes are the Case's key
  std::string impl;   // "own", "cublaslt", "cudnn", "openblas"
  Variant variant;    // every key that the op's comment in sim/cost/profile.h lists
  // Compares with the reference over sizes, lengths and edges. Run once before anything is timed:
  // an entry with a failed check is not timed.
  std::function<std::vector<CheckResult>()> check;
  // Whether it can run the case (divisibility, a largest m). Empty: any.
  std::function<bool(const Case&)> supports;
  std::function<Work(const Case&)> work;
  std::function<std::unique_ptr<Prepared>(const Case&, int copies, std::uint64_t seed)> prepare;
};

// The GPU kernels, in the order of kernels/kernel_list.inc: compiled by nvcc for a GPU, by the host
// compiler for the emulator.
std::vector<KernelEntry> gpu_kernels();

// The CPU's (kernels/cpu/cpu_kernels.cpp).
std::vector<KernelEntry> cpu_kernels();

}  // namespace headway::kernels
