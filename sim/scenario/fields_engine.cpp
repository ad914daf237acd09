#include "sim/scenario/fields.h"
#include "sim/scheduling/scheduler.h"

namespace headway {
namespace {

using E = EngineOptions;

constexpr std::int64_t kMaxTokens = 100'000'000;

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (const SchedulerEntry& entry : scheduler_table()) names.emplace_back(entry.name);
  return names;
}

void add_batching(FieldTable<E>& rows) {
  rows.push_back(choice("scheduler", &E::scheduler, scheduler_names(), "what decides each step"));
  rows.push_back(
      integer("max_num_seqs", &E::max_num_seqs, 1, 1'000'000, "most sequences in one step"));
  rows.push_back(integer("max_num_batched_tokens", &E::max_num_batched_tokens, 1, kMaxTokens,
                         "most tokens in one step"));
  rows.push_back(integer("max_model_len", &E::max_model_len, 0, kMaxTokens,
                         "most prompt + output tokens of a request; 0 = the model's own"));
  rows.push_back(boolean("enable_chunked_prefill", &E::enable_chunked_prefill,
                         "let a prompt be computed over several steps"));
  rows.push_back(integer("long_prefill_token_threshold", &E::long_prefill_token_threshold, 0,
                         kMaxTokens, "most tokens of one prompt in one step; 0 = off"));
  rows.push_back(choice("policy", &E::policy,
                        {"fcfs", "priority", "lpm", "dfs-weight", "lof", "random"},
                        "order of the waiting queue (lpm and after: sglang)"));
  rows.push_back(boolean("async_scheduling", &E::async_scheduling,
                         "plan a step before the last one's tokens are known"));
  rows.push_back(boolean("enforce_eager", &E::enforce_eager, "no CUDA graphs"));
  rows.push_back(boolean("scheduler_reserve_full_isl", &E::scheduler_reserve_full_isl,
                         "admit a prompt only if all of it would fit the KV cache"));
}

void add_memory(FieldTable<E>& rows) {
  rows.push_back(integer("block_size", &E::block_size, 1, 65'536, "tokens a KV block"));
  rows.push_back(number("gpu_memory_utilization", &E::gpu_memory_utilization, kAboveZero, 1,
                        "share of the GPU's memory the engine may use"));
  rows.push_back(integer("num_gpu_blocks_override", &E::num_gpu_blocks_override, 0, 100'000'000,
                         "KV blocks, as the engine's log states them; 0 = derived"));
  rows.push_back(integer("kv_cache_memory_bytes", &E::kv_cache_memory_bytes, 0,
                         1'000'000'000'000'000, "size of the KV cache; 0 = derived"));
  rows.push_back(boolean("enable_prefix_caching", &E::enable_prefix_caching,
                         "reuse the KV of prompts that begin alike"));
  rows.push_back(boolean("share_prompt_blocks", &E::share_prompt_blocks,
                         "vllm-v1: samples and beams of a request share its KV blocks (copied on "
                         "write); false = each is a sequence of its own"));
  rows.push_back(number("beam_switch_probability", &E::beam_switch_probability, 0, 1,
                        "chance a step that a beam is dropped for a fork of another one"));
  rows.push_back(
      choice("kv_allocator", &E::kv_allocator,
             {"", "paged", "reserve-max", "reserve-exact", "reserve-pow2"},
             "blocks, or one contiguous piece a request as before paging (static, orca); "
             "\"\" = the scheduler's own"));
  rows.push_back(choice("preemption_mode", &E::preemption_mode, {"recompute", "swap"},
                        "what happens to the KV of a preempted sequence"));
  rows.push_back(
      number("swap_space_gib", &E::swap_space_gib, 0, 1e6, "host memory for swap, a GPU"));
  rows.push_back(number("kv_offloading_size", &E::kv_offloading_size, 0, 1e6,
                        "vllm-v1: GiB of host memory behind the prefix cache, for all GPUs of a "
                        "replica; 0 = none"));
  rows.push_back(
      number("watermark", &E::watermark, 0, 1, "share of blocks kept free at admission"));
}

void add_one_engine(FieldTable<E>& rows) {
  rows.push_back(number("delay_factor", &E::delay_factor, 0, 1e6,
                        "vllm-v0: hold prompts back this many last-prompt latencies"));
  rows.push_back(integer("max_num_partial_prefills", &E::max_num_partial_prefills, 1, 1'000'000,
                         "vllm-v0: prompts being chunked at once"));
  rows.push_back(integer("max_long_partial_prefills", &E::max_long_partial_prefills, 1, 1'000'000,
                         "vllm-v0: of them, long ones"));
  rows.push_back(number("batch_timeout_ms", &E::batch_timeout_ms, 0, 1e9,
                        "static: longest wait of the oldest request for a full batch"));
  rows.push_back(integer("batch_size", &E::batch_size, 0, 1'000'000,
                         "static: requests a batch; 0 = max_num_seqs"));
  rows.push_back(boolean("release_at_batch_end", &E::release_at_batch_end,
                         "static: a finished member keeps its KV until the batch ends"));
  rows.push_back(integer("chunked_prefill_size", &E::chunked_prefill_size, -1, kMaxTokens,
                         "sglang: most prompt tokens of a chunk; -1 = off"));
  rows.push_back(integer("max_prefill_tokens", &E::max_prefill_tokens, 1, kMaxTokens,
                         "sglang: most prompt tokens of a step"));
  rows.push_back(boolean("enable_mixed_chunk", &E::enable_mixed_chunk,
                         "sglang: chunks and decodes in one step"));
  rows.push_back(number("schedule_conservativeness", &E::schedule_conservativeness, 0, 1e6,
                        "sglang: how much output to expect when admitting"));
  rows.push_back(integer("page_size", &E::page_size, 1, 65'536, "sglang: tokens a KV page"));
  rows.push_back(
      number("init_new_token_ratio", &E::init_new_token_ratio, 0, 1,
             "sglang: share of its output limit reserved for a running sequence at first"));
  rows.push_back(integer("retract_decode_steps", &E::retract_decode_steps, 0, 1'000'000,
                         "sglang: decode steps a retraction makes room for"));
  rows.push_back(boolean("ignore_eos", &E::ignore_eos,
                         "sglang: clients send ignore_eos with answers that end by length"));
  rows.push_back(choice("capacity_scheduler_policy", &E::capacity_scheduler_policy,
                        {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"},
                        "trtllm: who may enter"));
  rows.push_back(choice("context_chunking_policy", &E::context_chunking_policy,
                        {"", "FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"},
                        "trtllm: how prompts are chunked; \"\" = not"));
  rows.push_back(integer("n_parallel", &E::n_parallel, 1, 1'000'000, "llamacpp: slots"));
  rows.push_back(
      integer("n_batch", &E::n_batch, 1, kMaxTokens, "llamacpp: most tokens of a batch"));
  rows.push_back(integer("n_ubatch", &E::n_ubatch, 1, kMaxTokens,
                         "llamacpp: most tokens the GPU takes at once"));
}

}  // namespace

const FieldTable<EngineOptions>& engine_table() {
  static const FieldTable<E> table = [] {
    FieldTable<E> rows;
    add_batching(rows);
    add_memory(rows);
    add_one_engine(rows);
    return rows;
  }();
  return table;
}

}  // namespace headway
