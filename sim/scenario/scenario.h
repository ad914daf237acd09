#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/hardware/gpu_spec.h"
#include "sim/metrics/slo_class.h"
#include "sim/model/model_spec.h"
#include "sim/replica/speculation_options.h"
#include "sim/scenario/admission_options.h"
#include "sim/scenario/lifecycle_options.h"
#include "sim/scenario/transfer_options.h"
#include "sim/scheduling/engine_options.h"
#include "sim/workload/workload_options.h"

namespace headway {

struct ParallelOptions {
  std::int32_t tensor_parallel_size = 1;
  std::int32_t pipeline_parallel_size = 1;
  std::int32_t data_parallel_size = 1;
  std::int32_t expert_parallel_size = 1;
  std::int32_t context_parallel_size = 1;
  std::string all2all_backend = "allgather_reducescatter";
};

struct HostOptions {              // unset = the profile's host block; all zero for "roofline"
  std::optional<double> per_step_us, per_request_us, per_sequence_us, per_admission_us;
  std::optional<double> per_launch_us;  // unset = the profile's overheads, where it has them
};

struct Scenario;

// Replicas of one kind: the scenario's, with the keys that the pool gives in the place of the
// scenario's own.
struct PoolOptions {
  std::string name;
  std::int32_t replicas = 1;           // at the start
  std::string role = "both";           // both | prefill | decode
  std::optional<double> startup_s;     // unset = the cluster's
  std::optional<AutoscalerOptions> autoscaler;
  std::vector<std::string> overrides;  // the keys it gives: "gpu", "engine" ...
  std::shared_ptr<const Scenario> own;  // resolved; read it through pool_scenarios() (pools.h)
};

struct ClusterOptions {
  std::int32_t replicas = 1;           // where there are pools: of all of them
  std::string router = "round-robin";
  std::map<std::string, double, std::less<>> router_options;  // RouterOptions (routing/router.h)
  std::vector<PoolOptions> pools;      // empty = replicas are alike
  AdmissionOptions admission;
  LifecycleOptions lifecycle;
  TransferOptions transfer;            // with pools whose roles are prefill and decode
};

struct SloOptions {               // limits in milliseconds; unset = no limit
  std::optional<double> ttft_ms, tpot_ms, e2el_ms;
  std::vector<SloClass> classes;  // requests with limits of their own
  bool by_tenant = false;         // numbers for each tenant (in the place of classes)

  SloLimits limits() const { return {ttft_ms, tpot_ms, e2el_ms}; }
  bool any() const { return limits().any(); }
};

// One complete configuration: the strict JSON of contract.md, every default filled in.
struct Scenario {
  std::string file;               // where it was read ("" = built in memory); paths are relative to it
  std::string name;
  std::string model_name;         // as given (the base of an override)
  std::vector<std::pair<std::string, std::string>> model_overrides;  // key, value as JSON
  ModelSpec model;                // resolved
  std::string gpu_name;           // as given (the base of an override)
  GpuSpec gpu;                    // resolved
  std::string profile = "roofline";
  Precision precision;
  EngineOptions engine;
  ParallelOptions parallel;
  HostOptions host;
  SpeculationOptions speculation;
  ClusterOptions cluster;
  WorkloadOptions workload;
  SloOptions slo;
  std::uint64_t seed = 0;

  // Where relative paths start; "" = the working folder.
  std::string folder() const {
    const auto slash = file.find_last_of('/');
    return slash == std::string::npos ? "" : file.substr(0, slash);
  }
};

}  // namespace headway
