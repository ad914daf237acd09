#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/dtype.h"
#include "sim/hardware/gpu_spec.h"
#include "sim/kv/kv_layout.h"
#include "sim/model/model_spec.h"

namespace headway {

// What decides how much of a GPU is left for the KV cache; the names are the scenario's.
struct MemoryOptions {
  Precision precision;
  std::int32_t tensor_parallel_size = 1;
  std::int32_t pipeline_parallel_size = 1;
  // GPUs of ranks that share the experts; 1 = each rank has them all.
  std::int32_t data_parallel_size = 1;
  std::int32_t expert_parallel_size = 1;  // 1 = experts are cut by columns over tensor x data GPUs
  double gpu_memory_utilization = 0.90;
  std::int32_t max_num_batched_tokens = 8192;
  std::int32_t max_num_seqs = 256;
  std::int32_t max_model_len = 0;            // tokens; 0 = the model's max_position_embeddings
  std::int32_t block_size = 16;              // tokens
  std::int64_t num_gpu_blocks_override = 0;  // 0 = not pinned
  std::int64_t kv_cache_memory_bytes = 0;    // 0 = not pinned
  bool enforce_eager = false;                // no CUDA graphs
  // A drafter beside the model on the same GPU, and the KV it keeps of every token.
  std::int64_t draft_weight_bytes = 0;
  std::int64_t draft_kv_bytes_per_token = 0;
  std::int32_t drafted_tokens = 0;  // a step: recurrent layers keep a state for each
  KvRule kv_rule = KvRule::kGroups;
};

// The memory of one GPU, as vLLM V1 (0.19) divides it at start-up:
//   kv_cache = total * gpu_memory_utilization - weights - activations - overhead
// With pipeline parallelism: of the stage that has room for the fewest blocks. CUDA graphs are
// captured after the cache is sized and live outside that share (vLLM 0.21 and later take an
// estimate of them off the cache: pin num_gpu_blocks_override to such an engine's log line).
//
// Under KvRule::kAllTokens the states of recurrent layers come off the cache first: a slot for each
// of max_num_seqs, but no more than 0.9 / 1.9 of what there is (SGLang v0.5.5.post3,
// mamba_full_memory_ratio); then fewer sequences run.
struct MemoryBudget {
  std::int64_t total_bytes = 0;
  std::int64_t usable_bytes = 0;      // total * gpu_memory_utilization, rounded up
  std::int64_t weight_bytes = 0;      // and the rotary table, which is a buffer of the model
  std::int64_t activation_bytes = 0;  // peak of a run of max_num_batched_tokens, and its sampling
  std::int64_t overhead_bytes = 0;    // outside PyTorch's allocator: context growth, workspaces
  std::int64_t cuda_graph_bytes = 0;  // estimate, outside the share
  std::int64_t kv_cache_bytes = 0;    // num_gpu_blocks * block_bytes
  std::int64_t block_bytes = 0;       // of one KV block over the layers of this GPU
  std::int64_t num_gpu_blocks = 0;
  std::int32_t block_size = 0;        // tokens; as the layout has it
  std::int64_t state_cache_bytes = 0;  // state_slots * layout.state_bytes, beside the blocks
  std::int64_t state_slots = 0;        // 0 = no states beside the blocks
  KvLayout layout;
  bool pinned = false;  // by one of the two options
};

// InputError at `file`: the model does not fit (by how much, and what would), a parallel size that
// does not divide the model, or a max_model_len whose sequence does not fit the cache. One block is
// the engine's null block, which no sequence can hold.
MemoryBudget memory_budget(const ModelSpec& model, const GpuSpec& gpu, const MemoryOptions& options,
                           const std::string& file = "");

// The budget line by line: a table for a person and the keys of a result file.
struct BudgetLine {
  const char* key;  // "weights_bytes"
  std::int64_t bytes;
  const char* help;
};
std::vector<BudgetLine> budget_lines(const MemoryBudget& budget);

}  // namespace headway
