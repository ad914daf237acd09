#include "tests/contract/scheduler_case.h"

#include <algorithm>
#include <sstream>

#include "sim/core/random.h"

namespace headway::contract {
namespace {

class Draw {
 public:
  Draw(std::uint64_t seed) : stream_(seed, "scheduler contract") {}
  std::int32_t between(std::int32_t lo, std::int32_t hi) {
    return static_cast<std::int32_t>(stream_.uniform_int(lo, hi));
  }
  bool chance(double p) { return stream_.uniform() < p; }

 private:
  RandomStream stream_;
};

std::int32_t ceil_div(std::int32_t a, std::int32_t b) { return (a + b - 1) / b; }

// Settings that only vllm-v1 knows.
void draw_vllm_v1(SchedulerConfig& config, Draw& draw) {
  EngineOptions& engine = config.engine;
  if (draw.chance(0.3)) engine.policy = "priority";
  if (draw.chance(0.3)) engine.long_prefill_token_threshold = draw.between(1, 12);
  engine.scheduler_reserve_full_isl = draw.chance(0.2);
  engine.async_scheduling = draw.chance(0.3);
  if (engine.async_scheduling) {
    config.batches_in_flight = draw.chance(0.7) ? 2 : draw.between(3, 4);
  } else if (draw.chance(0.3)) {
    config.batches_in_flight = draw.between(2, 4);
  }
  if (draw.chance(0.4)) {
    config.speculation = engine.async_scheduling ? "eagle" : draw.chance(0.5) ? "ngram" : "eagle";
    config.num_speculative_tokens = draw.between(1, 4);
  }
}

// Settings that only vllm-v0 knows.
void draw_vllm_v0(SchedulerConfig& config, Draw& draw) {
  EngineOptions& engine = config.engine;
  if (draw.chance(0.3)) engine.policy = "priority";
  if (draw.chance(0.5)) engine.preemption_mode = "swap";
  if (draw.chance(0.2)) engine.delay_factor = draw.between(1, 4) * 0.5;
  engine.watermark = draw.between(0, 2) * 0.01;
  engine.max_num_partial_prefills = draw.between(1, 3);
  engine.max_long_partial_prefills = draw.between(1, engine.max_num_partial_prefills);
  if (draw.chance(0.5)) engine.long_prefill_token_threshold = draw.between(1, 12);
}

// Settings that only trtllm knows.
void draw_trtllm(SchedulerConfig& config, Draw& draw) {
  static const char* const kCapacity[] = {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"};
  static const char* const kChunking[] = {"", "FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"};
  EngineOptions& engine = config.engine;
  engine.capacity_scheduler_policy = kCapacity[draw.between(0, 2)];
  engine.context_chunking_policy = kChunking[draw.between(0, 2)];
  engine.async_scheduling = false;
  if (draw.chance(0.3)) config.batches_in_flight = draw.between(2, 3);
  if (draw.chance(0.4)) {
    config.speculation = "ngram";
    config.num_speculative_tokens = draw.between(1, 4);
  }
}

// Settings that only llamacpp knows.
void draw_llamacpp(SchedulerConfig& config, Draw& draw) {
  EngineOptions& engine = config.engine;
  engine.n_parallel = draw.between(1, 8);
  engine.n_batch = draw.between(1, 30);
  engine.n_ubatch = draw.between(1, 12);
  engine.async_scheduling = false;
  if (draw.chance(0.4)) {
    config.speculation = "ngram";
    config.num_speculative_tokens = draw.between(1, 4);
  }
}

std::int32_t slots(const EngineOptions& engine) {
  return std::min(engine.n_parallel, engine.max_num_seqs);
}

// The longest sequence that the engine can hold, tokens.
std::int32_t longest_sequence(const SchedulerConfig& config) {
  const EngineOptions& engine = config.engine;
  if (engine.scheduler != "llamacpp") return engine.max_model_len;
  const auto blocks = static_cast<std::int32_t>(config.num_blocks);
  return std::min(engine.max_model_len, blocks / slots(engine) * engine.block_size);
}

// Settings that only sglang knows; page_size divides the pool, or a sequence might not fit.
void draw_sglang(SchedulerConfig& config, Draw& draw) {
  static const char* const kPolicies[] = {"fcfs", "lpm", "dfs-weight", "lof", "random"};
  EngineOptions& engine = config.engine;
  engine.policy = kPolicies[draw.between(0, 4)];
  engine.page_size = draw.chance(0.3) ? engine.block_size : 1;
  engine.chunked_prefill_size = draw.chance(0.2) ? -1 : engine.page_size * draw.between(1, 12);
  engine.max_prefill_tokens = draw.between(1, 50);
  engine.enable_mixed_chunk = draw.chance(0.4);
  engine.ignore_eos = draw.chance(0.5);
  engine.init_new_token_ratio = draw.chance(0.5) ? 0.0 : 0.1 * draw.between(1, 10);
  engine.schedule_conservativeness = 0.5 * draw.between(0, 4);
  engine.retract_decode_steps = draw.between(0, 20);
  engine.async_scheduling = draw.chance(0.5);
  if (engine.async_scheduling) config.batches_in_flight = 2;
}

// Settings that only block-diffusion knows.
void draw_block_diffusion(SchedulerConfig& config, Draw& draw) {
  config.block_length = draw.between(1, 8);
  config.refinement_steps = draw.between(1, 6);
}

// Engines that reserve for a sequence's whole life, or page.
void draw_allocator(SchedulerConfig& config, Draw& draw) {
  static const char* const kAllocators[] = {"", "paged", "reserve-max", "reserve-exact",
                                            "reserve-pow2"};
  EngineOptions& engine = config.engine;
  engine.kv_allocator = kAllocators[draw.between(0, 4)];
  engine.batch_size = draw.between(0, engine.max_num_seqs);
  engine.release_at_batch_end = draw.chance(0.3);
}

// The least token budget with which every prompt can be served.
std::int32_t smallest_budget(const SchedulerConfig& config) {
  const EngineOptions& engine = config.engine;
  if (engine.scheduler == "vllm-v0" && engine.enable_chunked_prefill) {
    const std::int32_t least_share = engine.enable_prefix_caching ? engine.block_size : 1;
    return least_share * engine.max_num_partial_prefills;
  }
  if (engine.scheduler == "block-diffusion") return config.block_length;
  const bool chunks = engine.scheduler == "sarathi" || engine.scheduler == "llamacpp" ||
                      (engine.scheduler == "trtllm" && !engine.context_chunking_policy.empty()) ||
                      (engine.scheduler == "vllm-v1" && engine.enable_chunked_prefill);
  const bool strict = token_budget_rule(engine.scheduler) == TokenBudgetRule::kAlways;
  return chunks || !strict ? 1 : engine.max_model_len;
}

Request draw_request(std::uint64_t id, std::int32_t longest, Draw& draw) {
  Request r;
  r.id = id;
  r.prompt_tokens = draw.between(1, longest - 1);
  r.output_tokens = draw.between(1, longest - r.prompt_tokens);
  if (draw.chance(0.2)) r.max_tokens = r.output_tokens + draw.between(0, 5);
  r.priority = draw.between(0, 2);
  r.tenant = draw.between(0, 2);
  const std::int32_t shared = draw.between(0, 3);
  if (shared == 1) {
    r.prefix_group = draw.between(0, 1);
    r.prefix_tokens = draw.between(1, r.prompt_tokens);
  } else if (shared == 2) {
    r.session_id = draw.between(0, 1);
  }
  return r;
}

}  // namespace

TokenBudgetRule token_budget_rule(std::string_view scheduler) {
  for (const SchedulerEntry& row : scheduler_table()) {
    if (row.name == scheduler) return row.token_budget;
  }
  return TokenBudgetRule::kAlways;
}

SchedulerCase draw_case(std::string_view scheduler, std::uint64_t seed) {
  Draw draw(seed);
  SchedulerCase c;
  SchedulerConfig& config = c.config;
  EngineOptions& engine = config.engine;
  engine.scheduler = scheduler;
  engine.block_size = draw.between(1, 3) * draw.between(1, 3);
  engine.max_model_len = draw.between(4, 40);
  engine.max_num_seqs = draw.between(1, 6);
  engine.enable_prefix_caching = draw.chance(0.5);
  engine.enable_chunked_prefill = draw.chance(0.8);
  engine.batch_timeout_ms = draw.between(0, 20);
  config.seed = seed;
  if (scheduler == "vllm-v1") draw_vllm_v1(config, draw);
  if (scheduler == "vllm-v0") draw_vllm_v0(config, draw);
  if (scheduler == "trtllm") draw_trtllm(config, draw);
  if (scheduler == "llamacpp") draw_llamacpp(config, draw);
  if (scheduler == "sglang") draw_sglang(config, draw);
  if (scheduler == "block-diffusion") draw_block_diffusion(config, draw);
  if (scheduler == "static" || scheduler == "orca") draw_allocator(config, draw);
  engine.max_num_batched_tokens = smallest_budget(config) + draw.between(0, 30);

  // From the smallest cache that holds one sequence of the longest kind (block 0 is spare).
  const std::int32_t smallest = ceil_div(engine.max_model_len, engine.block_size) + 1;
  config.num_blocks = smallest + (draw.chance(0.4) ? 0 : draw.between(0, 2 * smallest));
  if (scheduler == "llamacpp") config.num_blocks *= slots(engine);
  config.num_cpu_blocks = draw.between(0, 2) * config.num_blocks / 2;
  c.must_serve_all = draw.chance(0.8);
  std::int32_t longest = engine.max_model_len;
  if (!c.must_serve_all) {
    longest += 10;
    config.num_blocks = std::max<std::int64_t>(2, config.num_blocks / 2);
  }

  SimTime now;
  const std::int32_t n = draw.between(1, 9);
  for (std::int32_t i = 0; i < n; ++i) {
    if (draw.chance(0.6)) now += SimTime::from_ns(1'000'000LL * draw.between(1, 6));
    Request r = draw_request(static_cast<std::uint64_t>(i), longest, draw);
    r.arrival = now;
    const bool leaves = draw.chance(0.1);
    c.aborts.push_back(leaves ? now + SimTime::from_ns(1'000'000LL * draw.between(0, 15))
                              : SimTime::never());
    c.token_limit.push_back(std::min(r.output_tokens, longest_sequence(config) - r.prompt_tokens));
    c.requests.push_back(r);
  }
  return c;
}

std::string describe(const SchedulerCase& c) {
  const EngineOptions& e = c.config.engine;
  std::ostringstream text;
  text << e.scheduler << ": blocks " << c.config.num_blocks << " x " << e.block_size << ", budget "
       << e.max_num_batched_tokens << ", seqs " << e.max_num_seqs << ", max_model_len "
       << e.max_model_len << ", caching " << e.enable_prefix_caching << ", chunked "
       << e.enable_chunked_prefill << ", threshold " << e.long_prefill_token_threshold
       << ", allocator '" << e.kv_allocator << "', preemption " << e.preemption_mode << ", delay "
       << e.delay_factor << ", partial " << e.max_num_partial_prefills << "/"
       << e.max_long_partial_prefills << ", host blocks " << c.config.num_cpu_blocks << ", policy "
       << e.policy << ", async " << e.async_scheduling << ", page " << e.page_size << ", chunk "
       << e.chunked_prefill_size << ", prefill " << e.max_prefill_tokens << ", mixed "
       << e.enable_mixed_chunk << ", ratio " << e.init_new_token_ratio * e.schedule_conservativeness
       << ", capacity " << e.capacity_scheduler_policy << ", chunking '"
       << e.context_chunking_policy << "', slots " << e.n_parallel << ", n_batch " << e.n_batch
       << ", n_ubatch " << e.n_ubatch << ", in flight " << c.config.batches_in_flight
       << ", blocks of " << c.config.block_length << " in " << c.config.refinement_steps
       << ", speculation '" << c.config.speculation << "' " << c.config.num_speculative_tokens
       << ", serve all " << c.must_serve_all << "\n";
  for (std::size_t i = 0; i < c.requests.size(); ++i) {
    const Request& r = c.requests[i];
    text << "  " << r.id << ": " << r.prompt_tokens << "+" << r.output_tokens << " (max "
         << r.max_tokens << ") at " << r.arrival.ms() << " ms, priority " << r.priority
         << ", group " << r.prefix_group << "/" << r.prefix_tokens << ", session " << r.session_id;
    if (c.aborts[i] != SimTime::never()) text << ", leaves at " << c.aborts[i].ms();
    text << "\n";
  }
  return text.str();
}

}  // namespace headway::contract
