#include "sim/cluster/build.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/core/errors.h"
#include "sim/cost/make_cost_model.h"
#include "sim/model/hf_config.h"
#include "sim/scenario/pools.h"

namespace headway {
namespace {

HostTerms host_terms(const Scenario& s, const Profile* profile) {
  HostTerms host = profile != nullptr ? profile->host : HostTerms();
  const HostOptions& own = s.host;
  if (own.per_step_us || own.per_request_us || own.per_sequence_us || own.per_admission_us) {
    host.source = "scenario";
  }
  host.per_step_us = s.host.per_step_us.value_or(host.per_step_us);
  host.per_request_us = s.host.per_request_us.value_or(host.per_request_us);
  host.per_sequence_us = s.host.per_sequence_us.value_or(host.per_sequence_us);
  host.per_admission_us = s.host.per_admission_us.value_or(host.per_admission_us);
  return host;
}

// The drafter as a model of its own: a named draft; one layer of the target (EAGLE and MTP heads are
// one decoder layer that reads the target's hidden states); the target's head alone for each of
// Medusa's. Nothing for n-gram look-up.
std::optional<ModelSpec> draft_model(const Scenario& s) {
  const SpeculationOptions& o = s.speculation;
  if (!o.on() || o.method == "ngram") return std::nullopt;
  if (o.method == "draft_model") {
    return load_model(o.draft_model, s.folder(), s.file, "speculation.draft_model");
  }
  ModelSpec draft = s.model;
  draft.layers.resize(1);
  return draft;
}

// What the drafter takes of the GPU: EAGLE and MTP share the target's embeddings and head; a Medusa
// head is a square residual block and a vocabulary projection, and keeps no KV.
void add_draft_memory(const Scenario& s, MemoryOptions& o) {
  const std::optional<ModelSpec> draft = draft_model(s);
  if (!draft) return;
  const double bytes = stored_weight_bytes(s.precision);
  const double tp = s.parallel.tensor_parallel_size;
  const double d = draft->hidden_size, v = draft->vocab_size;
  double parameters = static_cast<double>(parameter_count(*draft));
  if (s.speculation.method == "medusa") {
    parameters = static_cast<double>(s.speculation.acceptance.size()) * (d * d + d * v);
  } else {
    if (s.speculation.method != "draft_model") {
      parameters -= (draft->tie_word_embeddings ? 1 : 2) * d * v;
    }
    o.draft_kv_bytes_per_token =
        static_cast<std::int64_t>(kv_bytes_per_token(*draft, s.precision.kv) / tp);
  }
  o.draft_weight_bytes = static_cast<std::int64_t>(parameters * bytes / tp);
}

// Layers are dealt out evenly; what is left over makes some stages one longer.
double slowest_stage(const Scenario& s) {
  const std::int32_t layers = s.model.num_hidden_layers();
  const std::int32_t stages = s.parallel.pipeline_parallel_size;
  return static_cast<double>((layers + stages - 1) / stages) / layers;
}

// Experts hold data-parallel ranks in step; without them each is an engine on its own.
std::int32_t ranks_in_step(const Scenario& s) {
  return s.model.is_moe() ? s.parallel.data_parallel_size : 1;
}

MemoryBudget budget_of(const Scenario& s) {
  MemoryOptions o;
  o.precision = s.precision;
  o.tensor_parallel_size = s.parallel.tensor_parallel_size;
  o.pipeline_parallel_size = s.parallel.pipeline_parallel_size;
  o.data_parallel_size = ranks_in_step(s);
  o.expert_parallel_size = s.parallel.expert_parallel_size;
  o.gpu_memory_utilization = s.engine.gpu_memory_utilization;
  o.max_num_batched_tokens = s.engine.max_num_batched_tokens;
  o.max_num_seqs = s.engine.max_num_seqs;
  o.max_model_len = s.engine.max_model_len;
  o.block_size = s.engine.block_size;
  o.num_gpu_blocks_override = s.engine.num_gpu_blocks_override;
  o.kv_cache_memory_bytes = s.engine.kv_cache_memory_bytes;
  o.enforce_eager = s.engine.enforce_eager;
  o.kv_rule = find_scheduler(s.engine.scheduler).kv_rule;
  if (s.speculation.on()) o.drafted_tokens = s.speculation.num_speculative_tokens;
  add_draft_memory(s, o);
  return memory_budget(s.model, s.gpu, o, s.file);
}

CostOptions cost_options(const Scenario& s, const ModelSpec& model, const Profile* profile) {
  CostOptions o{.model = model, .gpu = s.gpu, .profile = profile, .precision = s.precision};
  o.tensor_parallel_size = s.parallel.tensor_parallel_size;
  o.pipeline_parallel_size = s.parallel.pipeline_parallel_size;
  if (model.is_moe()) {
    o.data_parallel_size = ranks_in_step(s);
    o.expert_parallel_size = s.parallel.expert_parallel_size;
    o.all_to_all = s.parallel.all2all_backend == "all_to_all";
  }
  o.context_parallel_size = s.parallel.context_parallel_size;
  o.max_num_batched_tokens = s.engine.max_num_batched_tokens;
  o.max_num_seqs = s.engine.max_num_seqs;
  o.max_model_len = s.engine.max_model_len;
  o.enforce_eager = s.engine.enforce_eager;
  o.launch_us = s.host.per_launch_us;
  return o;
}

std::shared_ptr<const CostModel> drafter(const Scenario& s, const Profile* profile) {
  const std::optional<ModelSpec> draft = draft_model(s);
  if (!draft) return nullptr;
  // Tables of whole layers belong to one model; a different drafter falls back on the roofline.
  try {
    return make_cost_model(cost_options(s, *draft, profile));
  } catch (const InputError&) {
    return make_cost_model(cost_options(s, *draft, nullptr));
  }
}

// A block lies on every rank.
std::int64_t offload_blocks(const Scenario& s, const MemoryBudget& budget) {
  if (s.engine.kv_offloading_size == 0) return 0;
  if (!budget.layout.plain() || budget.layout.recurrent) {
    throw InputError({s.file, "engine.kv_offloading_size",
                      std::to_string(s.engine.kv_offloading_size),
                      "0 for " + s.model_name + ": its layers keep windows or states"});
  }
  const std::int32_t ranks = s.parallel.tensor_parallel_size * s.parallel.pipeline_parallel_size;
  return static_cast<std::int64_t>(s.engine.kv_offloading_size * (1 << 30) /
                                   (static_cast<double>(budget.block_bytes) * ranks));
}

SchedulerConfig scheduler_config(const Scenario& s, const MemoryBudget& budget) {
  SchedulerConfig c;
  c.engine = s.engine;
  c.num_blocks = budget.num_gpu_blocks;
  apply_layout(budget.layout, budget.state_slots, c);
  c.num_cpu_blocks = static_cast<std::int64_t>(s.engine.swap_space_gib * (1 << 30) /
                                               static_cast<double>(budget.block_bytes));
  c.num_offload_blocks = offload_blocks(s, budget);
  c.seed = s.seed;
  c.pipeline_parallel_size = s.parallel.pipeline_parallel_size;
  if (s.model.generation.diffusion()) {
    c.block_length = s.model.generation.block_length;
    c.refinement_steps = s.model.generation.refinement_steps;
  }
  if (s.slo.ttft_ms) c.slo_ttft_ms = *s.slo.ttft_ms;
  // Literals: the configuration keeps a view.
  if (s.speculation.method == "ngram") c.speculation = "ngram";
  if (s.speculation.method == "eagle" || s.speculation.method == "mtp") c.speculation = "eagle";
  if (s.speculation.method == "medusa") c.speculation = "medusa";
  if (s.speculation.method == "draft_model") c.speculation = "draft_model";
  if (s.speculation.on()) c.num_speculative_tokens = s.speculation.num_speculative_tokens;
  // vLLM keeps asynchronous scheduling only with EAGLE-type drafters.
  const bool drafts_sync = s.speculation.on() && c.speculation != "eagle";
  const SchedulerEntry& entry = find_scheduler(s.engine.scheduler);
  const bool pipelined = entry.pipelined;
  if (drafts_sync || !pipelined || entry.synchronous) c.engine.async_scheduling = false;
  if (c.engine.async_scheduling) c.batches_in_flight = 2;
  if (pipelined) {
    c.batches_in_flight = std::max(c.batches_in_flight, s.parallel.pipeline_parallel_size);
  }
  return c;
}

Blueprint blueprint(const Scenario& s, const Profile* profile) {
  Blueprint b;
  b.budget = budget_of(s);
  b.host = host_terms(s, profile);
  if (profile) b.profile_provenance_json = profile->provenance_json;
  b.cost = make_cost_model(cost_options(s, s.model, profile));
  b.scheduler = scheduler_config(s, b.budget);
  b.data_parallel_size = s.parallel.data_parallel_size;
  b.replica.in_step = ranks_in_step(s) > 1;
  b.speculation = s.speculation;
  b.seed = s.seed;
  b.draft_cost = drafter(s, profile);
  b.replica.max_model_len = s.engine.max_model_len;
  b.replica.max_num_seqs = s.engine.max_num_seqs;
  b.replica.max_num_batched_tokens = s.engine.max_num_batched_tokens;
  b.replica.batches_in_flight = b.scheduler.batches_in_flight;
  b.replica.scheduler_assumes_drafts = b.scheduler.engine.async_scheduling;
  b.replica.pipeline_parallel_size = s.parallel.pipeline_parallel_size;
  b.replica.slowest_stage = slowest_stage(s);
  b.replica.host.per_step = SimTime::from_us(b.host.per_step_us);
  b.replica.host.per_request = SimTime::from_us(b.host.per_request_us);
  b.replica.host.per_sequence = SimTime::from_us(b.host.per_sequence_us);
  b.replica.host.per_admission = SimTime::from_us(b.host.per_admission_us);
  b.replica.shares_samples = s.engine.share_prompt_blocks &&
                             find_scheduler(s.engine.scheduler).forks && b.budget.layout.plain();
  if (s.gpu.memory_bandwidth > 0) {  // read and written
    b.replica.copy_us_per_block =
        2.0 * static_cast<double>(b.budget.block_bytes) / s.gpu.memory_bandwidth * 1e6;
  }
  if (s.gpu.host_link_bandwidth > 0) {
    b.replica.swap_us_per_block =
        static_cast<double>(b.budget.block_bytes) / s.gpu.host_link_bandwidth * 1e6;
  }
  return b;
}

}  // namespace

Blueprint make_blueprint(const Scenario& s) {
  if (s.profile == "roofline") return blueprint(s, nullptr);
  const Profile profile = load_profile(s.profile);
  return blueprint(s, &profile);
}

Blueprint make_blueprint(const Scenario& s, const Profile& profile) {
  return blueprint(s, &profile);
}

std::vector<Blueprint> make_blueprints(const Scenario& scenario, const Profile* profile) {
  std::vector<Blueprint> blueprints;
  const std::vector<PoolOptions>& pools = scenario.cluster.pools;
  for (const Scenario& s : pool_scenarios(scenario)) {
    try {
      const bool at_hand = profile != nullptr && s.profile == scenario.profile;
      blueprints.push_back(at_hand ? make_blueprint(s, *profile) : make_blueprint(s));
    } catch (const InputError& error) {
      InputError::Parts parts = error.parts();
      if (pools.empty() || parts.expected.empty()) throw;
      parts.expected += ", in pool \"" + pools[blueprints.size()].name + "\"";
      throw InputError(parts);
    }
  }
  return blueprints;
}

std::unique_ptr<Replica> make_replica(const Blueprint& b, std::uint32_t id,
                                      std::span<Observer* const> observers,
                                      std::uint64_t first_step, std::shared_ptr<RunRoom> room) {
  ReplicaConfig config = b.replica;
  config.id = id;
  config.first_step = first_step;
  std::unique_ptr<Speculation> speculation;
  if (b.speculation.on()) {
    speculation = std::make_unique<Speculation>(b.speculation, b.seed, b.draft_cost);
  }
  return std::make_unique<Replica>(config, make_scheduler(b.scheduler), b.cost, observers,
                                   std::move(speculation), std::move(room));
}

}  // namespace headway
