#pragma once

#include <cstdint>
#include <string>

namespace headway {

// The `engine` block of a scenario: the settings of one serving engine, under vLLM's flag names in
// snake_case. A value of 0 (or empty) where noted means "the engine's own default", which is
// resolved before the scheduler is built; schedulers see resolved values only.
struct EngineOptions {
  std::string scheduler = "vllm-v1";      // a row of the scheduler table
  std::int32_t max_num_seqs = 256;        // sequence cap of one step
  std::int32_t max_num_batched_tokens = 8192;  // token budget of one step
  std::int32_t max_model_len = 0;         // prompt + output limit, tokens; 0 = the model's own
  std::int32_t block_size = 16;           // tokens a KV block
  double gpu_memory_utilization = 0.90;   // share of the GPU's memory the engine may use
  std::int64_t num_gpu_blocks_override = 0;   // KV blocks, as the engine's log line states; 0 = derived
  std::int64_t kv_cache_memory_bytes = 0;     // KV cache size; 0 = derived
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  std::int32_t long_prefill_token_threshold = 0;  // 0 = off
  std::string policy = "fcfs";            // vLLM: fcfs | priority
                                          // sglang: fcfs | lpm | dfs-weight | lof | random
  bool async_scheduling = true;           // plan step n+1 before step n's tokens are known (vllm-v1)
  bool enforce_eager = false;             // no CUDA graphs
  bool scheduler_reserve_full_isl = false;  // admit only if the whole prompt would fit (vLLM >= 2026-05)
  bool share_prompt_blocks = true;        // samples and beams of a request share KV (vllm-v1);
                                          // false = each is a sequence of its own, as n > 1 is in
                                          // vLLM V1 itself
  double beam_switch_probability = 0.2;   // a step: that a beam is dropped for a fork of another one
  std::string kv_allocator;               // paged, or contiguous: reserve-max | reserve-exact |
                                          // reserve-pow2; "" = the scheduler's own (static, orca:
                                          // reserve-max; else paged)
  std::string preemption_mode = "recompute";  // recompute | swap (vllm-v0)
  double swap_space_gib = 4.0;            // host memory for swap, per GPU (vllm-v0)
  double kv_offloading_size = 0.0;        // GiB of host memory behind the prefix cache, over all
                                          // ranks of a replica (vLLM's --kv-offloading-size, native
                                          // backend); 0 = off
  double watermark = 0.01;                // share of blocks kept free at admission (vllm-v0, sarathi)
  double delay_factor = 0.0;              // vllm-v0 scheduler_delay_factor
  std::int32_t max_num_partial_prefills = 1;      // vllm-v0 chunked
  std::int32_t max_long_partial_prefills = 1;     // vllm-v0 chunked
  double batch_timeout_ms = 1000.0;       // static: longest wait of the oldest request for a full batch
  std::int32_t batch_size = 0;            // static: requests a batch; 0 = max_num_seqs
  bool release_at_batch_end = false;      // static: a finished member keeps its seat and KV to the end
  // sglang (names of its server_args)
  std::int32_t chunked_prefill_size = 8192;
  std::int32_t max_prefill_tokens = 16384;
  bool enable_mixed_chunk = false;
  double schedule_conservativeness = 1.0;
  std::int32_t page_size = 1;
  double init_new_token_ratio = 0.7;       // its environment's SGLANG_INIT_NEW_TOKEN_RATIO
  std::int32_t retract_decode_steps = 20;  // SGLANG_RETRACT_DECODE_STEPS
  bool ignore_eos = true;                  // clients send it with answers that end by length
  // trtllm
  std::string capacity_scheduler_policy = "GUARANTEED_NO_EVICT";  // | MAX_UTILIZATION | STATIC_BATCH
  std::string context_chunking_policy;    // "" (off) | FIRST_COME_FIRST_SERVED | EQUAL_PROGRESS
  // llamacpp
  std::int32_t n_parallel = 4;
  std::int32_t n_batch = 2048;
  std::int32_t n_ubatch = 512;
};

}  // namespace headway
