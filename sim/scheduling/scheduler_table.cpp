#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/scheduling/policies.h"
#include "sim/scheduling/scheduler.h"

namespace headway {
namespace {

// Chunking came on by itself only for max_model_len above 32k; the budget was then raised to
// max_model_len (vllm_v0.h), prefix caching was off.
void defaults_of_vllm_v0(EngineOptions& engine) {
  engine.enable_chunked_prefill = engine.enable_prefix_caching = false;
  engine.max_num_batched_tokens = 2048;
}

void defaults_of_vllm_02(EngineOptions& engine) { engine.max_num_batched_tokens = 2560; }

void defaults_of_sarathi(EngineOptions& engine) { engine.max_num_batched_tokens = 512; }

void defaults_of_trtllm(EngineOptions& engine) { engine.max_num_seqs = 2048; }

// max_running_requests, for a pool of some hundred thousand tokens; the other settings of its own
// (chunked_prefill_size ...) have names of their own.
void defaults_of_sglang(EngineOptions& engine) { engine.max_num_seqs = 2048; }

// It can do one part of a request and leave the other to another replica.
SchedulerEntry between_replicas(SchedulerEntry row) {
  row.hands_over_kv = row.receives_kv = true;
  return row;
}

SchedulerEntry with_host_tier(SchedulerEntry row) {
  row.offloads_kv = true;
  return row;
}

}  // namespace

// The visible table: one row a policy. A new policy is one file, one declaration in policies.h and
// one row here.
std::span<const SchedulerEntry> scheduler_table() {
  static const std::vector<SchedulerEntry> kRows = {
      with_host_tier(between_replicas(
          {"vllm-v1",
           "vLLM V1 0.16.0: running first, then admit; chunked prefill, preemption by recompute",
           make_vllm_v1, TokenBudgetRule::kAlways, true, nullptr, false, true})),
      {"vllm-v0",
       "vLLM V0 0.8.5: prefill first, else decode (or one budget in chunks); recompute or swap",
       make_vllm_v0, TokenBudgetRule::kAlways, false, defaults_of_vllm_v0, false, false,
       KvRule::kAllTokens},
      between_replicas(
          {"sglang",
           "SGLang 0.5.5.post3: prefill before decode, radix cache, output reserved by a ratio",
           make_sglang, TokenBudgetRule::kNone, true, defaults_of_sglang, false, false,
           KvRule::kAllTokens}),
      {"static", "FasterTransformer: a batch is filled, then runs until its slowest member ends",
       make_static, TokenBudgetRule::kNone},
      between_replicas(
          {"orca",
           "Orca (OSDI'22): requests join and leave at every step; max_model_len reserved each",
           make_orca, TokenBudgetRule::kNone, true, nullptr, true}),
      between_replicas(
          {"vllm-0.2",
           "vLLM 0.2: paged KV; a step is all prefill while a prompt fits, else all decode",
           make_vllm_02, TokenBudgetRule::kButOnePrompt, true, defaults_of_vllm_02, true}),
      between_replicas(
          {"sarathi",
           "Sarathi-Serve (OSDI'24): one token budget a step, decodes first, prompts in chunks",
           make_sarathi, TokenBudgetRule::kAlways, true, defaults_of_sarathi, true}),
      {"trtllm",
       "TensorRT-LLM: KV reserved to each request's end, or pauses on demand; then a batch is cut",
       make_trtllm, TokenBudgetRule::kAlways, true, defaults_of_trtllm, true, false,
       KvRule::kAllTokens},
      {"llamacpp",
       "llama.cpp server 2026: n_parallel slots of equal context; decodes, then prompts slot by "
       "slot",
       make_llamacpp},
      between_replicas(
          {"fcfs-nochunk",
           "teaching: continuous batching of whole prompts, paged KV, first come first served",
           make_fcfs_nochunk, TokenBudgetRule::kButOnePrompt}),
      between_replicas({"sjf",
                        "teaching: as fcfs-nochunk, the least remaining work first (an oracle)",
                        make_sjf, TokenBudgetRule::kButOnePrompt}),
      between_replicas(
          {"vtc", "VTC (OSDI'24): as fcfs-nochunk, the tenant with the least service so far first",
           make_vtc, TokenBudgetRule::kButOnePrompt}),
      between_replicas(
          {"edf", "teaching: as fcfs-nochunk, the earliest TTFT deadline first, missed ones last",
           make_edf, TokenBudgetRule::kButOnePrompt}),
      {"block-diffusion",
       "diffusion models: blocks of masked tokens refined in passes; requests join between passes",
       make_block_diffusion, TokenBudgetRule::kButOnePrompt, false, nullptr, false, false,
       KvRule::kGroups, true},
  };
  return kRows;
}

const SchedulerEntry& find_scheduler(const std::string& name) {
  std::vector<std::string> names;
  for (const SchedulerEntry& row : scheduler_table()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw InputError(
      {.place = "engine.scheduler", .found = "\"" + name + "\"", .expected = one_of(name, names)});
}

void apply_layout(const KvLayout& layout, std::int64_t state_slots, SchedulerConfig& config) {
  config.kv = layout;
  config.engine.block_size = layout.block_size;
  if (layout.recurrent) config.engine.enable_prefix_caching = false;
  // A pool of tokens would let in more short sequences than there are blocks.
  if (layout.block_a_sequence()) {
    state_slots = config.num_blocks;
    config.engine.page_size = 1;
  }
  if (state_slots == 0) return;
  config.engine.max_num_seqs = static_cast<std::int32_t>(
      std::min<std::int64_t>(config.engine.max_num_seqs, state_slots));
}

void Scheduler::repeat(const StepPlan&, std::int64_t steps) {
  SIM_CHECK(steps == 0, "a scheduler that promises nothing is asked to repeat a plan");
}

Expected Scheduler::expect(Sequence&) {
  SIM_CHECK(false, "a scheduler that receives no KV is to expect some");
}

void Scheduler::receive(Sequence&) { SIM_CHECK(false, "a scheduler that receives no KV gets some"); }

void Scheduler::release(Sequence&) {
  SIM_CHECK(false, "a scheduler that hands no KV over is to release some");
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerConfig& config) {
  return find_scheduler(config.engine.scheduler).make(config);
}

}  // namespace headway
