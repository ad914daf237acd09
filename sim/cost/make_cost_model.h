#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/core/dtype.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/profile.h"
#include "sim/hardware/gpu_spec.h"
#include "sim/model/model_spec.h"

namespace headway {

// How closely the roofline looks.
enum class RooflineDetail : std::uint8_t {
  kOperators,  // each operator at max(flops / peak, bytes / bandwidth), activations included
  kLecture,    // the whole step at once: every weight (embeddings too) read once and the KV of the
               // batch; latency = memory / bandwidth while it is memory-bound (CS336, lecture 10)
};

// What a cost model is built for. The referenced objects must outlive the call only.
struct CostOptions {
  const ModelSpec& model;
  const GpuSpec& gpu;
  const Profile* profile = nullptr;  // nullptr: the roofline
  Precision precision{};
  std::int32_t tensor_parallel_size = 1;
  std::int32_t pipeline_parallel_size = 1;
  std::int32_t data_parallel_size = 1;     // ranks that step together; 1 where each is on its own
  std::int32_t expert_parallel_size = 1;   // 1 = experts are cut by columns over all their GPUs
  bool all_to_all = false;                 // how tokens reach their experts: RankOperators
  std::int32_t context_parallel_size = 1;  // GPUs that share a prompt's tokens
  std::int32_t max_num_batched_tokens = 8192;  // sizes of the tables; larger steps are priced too,
  std::int32_t max_num_seqs = 256;             // only more slowly
  std::int32_t max_model_len = 0;              // 0 = the model's own
  bool enforce_eager = false;                  // true: no CUDA graphs, so no padding of small steps
  // What the host takes to launch one kernel outside CUDA graphs, in microseconds (cuda_graphs.h).
  // Unset: the profile's overheads.kernel_launch_us, 0 where it has none.
  std::optional<double> launch_us;
  RooflineDetail roofline_detail = RooflineDetail::kOperators;
};

// A cost model lowered for this configuration. InputError: a profile of another GPU, a profile that
// lacks the model, dtype or parallel size, a model that does not divide over the GPUs.
std::unique_ptr<CostModel> make_cost_model(const CostOptions& options);

}  // namespace headway
