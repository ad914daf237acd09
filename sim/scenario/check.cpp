#include "sim/scenario/check.h"

#include <algorithm>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/cost/operators.h"
#include "sim/routing/router.h"
#include "sim/scheduling/scheduler.h"

namespace headway {
namespace {

class Checker {
 public:
  Checker(const Scenario& scenario, const PlaceOf& place_of) : s_(scenario), place_of_(place_of) {}

  [[noreturn]] void fail(const std::string& key, const std::string& found,
                         const std::string& expected) const {
    const std::string where = place_of_(key);
    throw ContradictionError(
        {where.starts_with("--") ? "command line" : s_.file, where, found, expected});
  }

  void lengths() const {
    const auto& e = s_.engine;
    const auto limit = s_.model.max_position_embeddings;
    if (limit > 0 && e.max_model_len > limit) {
      fail("engine.max_model_len", std::to_string(e.max_model_len),
           "at most " + std::to_string(limit) + ", what " + s_.model_name + " was made for");
    }
  }

  void batching() const {
    const auto& e = s_.engine;
    const bool vllm = e.scheduler.starts_with("vllm-v");
    // vLLM refuses to start so: a step of decodes alone would not fit its budget.
    if (vllm && e.max_num_batched_tokens < e.max_num_seqs) {
      fail("engine.max_num_batched_tokens", std::to_string(e.max_num_batched_tokens),
           "at least max_num_seqs, which is " + std::to_string(e.max_num_seqs));
    }
    if (vllm && e.policy != "fcfs" && e.policy != "priority") {
      fail("engine.policy", "\"" + e.policy + "\"",
           "fcfs or priority, what " + e.scheduler + " knows");
    }
    if (e.num_gpu_blocks_override > 0 && e.kv_cache_memory_bytes > 0) {
      fail("engine.kv_cache_memory_bytes", "two sizes of the KV cache",
           "either kv_cache_memory_bytes or num_gpu_blocks_override");
    }
  }

  // A second tier behind a prefix cache.
  void offloading() const {
    const EngineOptions& e = s_.engine;
    if (e.kv_offloading_size == 0) return;
    const auto refuse = [&](const std::string& expected) {
      fail("engine.kv_offloading_size", std::to_string(e.kv_offloading_size), expected);
    };
    if (!find_scheduler(e.scheduler).offloads_kv) {
      std::string names;
      for (const SchedulerEntry& row : scheduler_table()) {
        if (row.offloads_kv) names += (names.empty() ? "" : ", ") + std::string(row.name);
      }
      refuse("0 with the scheduler " + e.scheduler + " (" + names + " can)");
    }
    if (!e.enable_prefix_caching) refuse("0 without enable_prefix_caching");
    if (s_.gpu.host_link_bandwidth <= 0) refuse("0, as " + s_.gpu.name + " has no host link");
  }

  void parallel() const {
    const ParallelOptions& p = s_.parallel;
    const std::int32_t data = s_.model.is_moe() ? p.data_parallel_size : 1;
    if (!s_.model.is_moe() && p.expert_parallel_size > 1) {
      fail("parallel.expert_parallel_size", std::to_string(p.expert_parallel_size),
           "1, as " + s_.model_name + " has no experts");
    }
    try {
      check_divides(s_.model, RankSplit{p.tensor_parallel_size, p.pipeline_parallel_size, data,
                                        p.expert_parallel_size});
    } catch (const InputError& error) {
      fail(error.parts().place, error.parts().found, error.parts().expected);  // with its line
    }
    if (p.all2all_backend != "allgather_reducescatter" && p.all2all_backend != "all_to_all") {
      fail("parallel.all2all_backend", "\"" + p.all2all_backend + "\"",
           "allgather_reducescatter or all_to_all");
    }
    context();
    const auto pp = s_.parallel.pipeline_parallel_size;
    if (pp > s_.model.num_hidden_layers()) {
      fail("parallel.pipeline_parallel_size", std::to_string(pp),
           "at most the model's " + std::to_string(s_.model.num_hidden_layers()) + " layers");
    }
  }

  // A diffusion model refines blocks and any other emits token by token: a scheduler knows one of them.
  void generation() const {
    const bool diffusion = s_.model.generation.diffusion();
    if (find_scheduler(s_.engine.scheduler).diffuses == diffusion) return;
    std::vector<std::string> fitting;
    for (const SchedulerEntry& row : scheduler_table()) {
      if (row.diffuses == diffusion) fitting.emplace_back(row.name);
    }
    fail("engine.scheduler", "\"" + s_.engine.scheduler + "\"",
         one_of("", fitting) + ": " + s_.model.name +
             (diffusion ? " is a diffusion language model" : " is no diffusion language model"));
  }

  // Engines that have it, and what cannot be cut along a prompt: a recurrent state needs the tokens in
  // order; ranks and stages that wait for each other would need a layout of their own.
  void context() const {
    const std::int32_t cp = s_.parallel.context_parallel_size;
    if (cp == 1) return;
    const auto refuse = [&](const std::string& expected) {
      fail("parallel.context_parallel_size", std::to_string(cp), expected);
    };
    const std::string& engine = s_.engine.scheduler;
    if (engine != "vllm-v1" && engine != "sglang" && engine != "trtllm") {
      refuse("1: " + engine + " has no context parallelism (vllm-v1, sglang, trtllm have)");
    }
    for (const LayerSpec& layer : s_.model.layers) {
      if (layer.mixer.is_state()) refuse("1: a recurrent state is computed token by token");
    }
    if (s_.parallel.data_parallel_size > 1 || s_.parallel.pipeline_parallel_size > 1) {
      refuse("1 with data or pipeline parallelism");
    }
  }

  // An autoscaler that goes by the SLO needs one.
  void fleet() const {
    const ClusterOptions& c = s_.cluster;
    const auto check = [&](const std::optional<AutoscalerOptions>& scaler, const std::string& key) {
      if (scaler && scaler->metric == "slo" && !s_.slo.any()) {
        fail(key + ".metric", "\"slo\" without limits", "a limit in slo: ttft_ms, tpot_ms or e2el_ms");
      }
    };
    check(c.lifecycle.autoscaler, "cluster.autoscaler");
    for (std::size_t i = 0; i < c.pools.size(); ++i) {
      check(c.pools[i].autoscaler, "cluster.pools[" + std::to_string(i) + "].autoscaler");
    }
  }

  void speculation() const {
    const auto& d = s_.speculation;
    if (!d.method.empty() && s_.model.generation.diffusion()) {
      fail("speculation.method", "\"" + d.method + "\"",
           "no speculation: " + s_.model.name + " emits whole blocks by itself");
    }
    const bool rates = !d.acceptance.empty() || !d.acceptance_preset.empty();
    if (d.method.empty() && (d.num_speculative_tokens > 0 || rates || !d.draft_model.empty())) {
      fail("speculation.method", "speculation without a method", "a method, or no other key here");
    }
    if (d.method != "draft_model" && !d.draft_model.empty()) {
      fail("speculation.draft_model", "a draft model with method \"" + d.method + "\"",
           "method draft_model, or no draft_model");
    }
    SpeculationOptions resolved = d;
    try {
      resolve_speculation(resolved, s_.file);
    } catch (const InputError& error) {
      fail(error.parts().place, error.parts().found, error.parts().expected);  // with its line
    }
  }

  // An option is of one router; a router reads its own.
  void router_options() const {
    const RouterEntry& router = find_router(s_.cluster.router);
    std::vector<std::string> own;
    for (const RouterOption& o : router.options) own.emplace_back(o.name);
    for (const auto& [name, value] : s_.cluster.router_options) {
      if (std::find(own.begin(), own.end(), name) != own.end()) continue;
      fail("cluster.router_options." + name, "an option that " + s_.cluster.router + " does not read",
           own.empty() ? "no options: " + s_.cluster.router + " has none" : one_of(name, own));
    }
  }

  // Of a trace, only reading it tells (cluster/simulation.cpp).
  void router_need() const {
    const WorkloadOptions& w = s_.workload;
    const auto refuse = [&](const std::string& lack, const std::string& expected) {
      fail("cluster.router", "\"" + s_.cluster.router + "\" on " + lack, expected);
    };
    if (!w.trace.empty()) return;
    switch (find_router(s_.cluster.router).need) {
      case RouterNeed::kNothing:
        return;
      case RouterNeed::kContent:
        if (w.sessions) return;
        refuse("a workload whose prompts have nothing in common",
               "workload.sessions, a trace that names content, or another router");
        return;
      case RouterNeed::kSessions:
        if (w.sessions) return;
        refuse("a workload without sessions",
               "workload.sessions, a trace with session_id, or another router");
        return;
      case RouterNeed::kPriorities:
        if (std::any_of(w.tenants.begin(), w.tenants.end(),
                        [](const TenantOptions& tenant) { return tenant.priority != 0; })) {
          return;
        }
        refuse("a workload of one priority",
               "workload.tenants with priorities, a trace with priority, or another router");
    }
  }

  void slo() const {
    if (s_.slo.by_tenant && !s_.slo.classes.empty()) {
      fail("slo.by_tenant", "classes and numbers by tenant", "either of them");
    }
  }

 private:
  const Scenario& s_;
  const PlaceOf& place_of_;
};

}  // namespace

void resolve_defaults(Scenario& scenario) {
  EngineOptions& e = scenario.engine;
  if (e.max_model_len == 0) e.max_model_len = scenario.model.max_position_embeddings;
  if (e.batch_size == 0) e.batch_size = e.max_num_seqs;
  for (const RouterOption& o : find_router(scenario.cluster.router).options) {
    scenario.cluster.router_options.emplace(o.name, o.initial);
  }
  for (SloClass& c : scenario.slo.classes) {
    if (!c.limits.ttft_ms) c.limits.ttft_ms = scenario.slo.ttft_ms;
    if (!c.limits.tpot_ms) c.limits.tpot_ms = scenario.slo.tpot_ms;
    if (!c.limits.e2el_ms) c.limits.e2el_ms = scenario.slo.e2el_ms;
  }
  if (scenario.speculation.acceptance_preset.empty()) return;
  SpeculationOptions with_preset = scenario.speculation;
  try {
    resolve_speculation(with_preset, scenario.file);
    scenario.speculation = with_preset;
  } catch (const InputError&) {
    // check_scenario says it again, with its line.
  }
}

void check_scenario(const Scenario& scenario, const PlaceOf& place_of) {
  const Checker check(scenario, place_of);
  check.lengths();
  check.batching();
  check.offloading();
  check.parallel();
  check.generation();
  check.speculation();
  check.router_options();
  check.router_need();
  check.slo();
  check.fleet();
}

}  // namespace headway
