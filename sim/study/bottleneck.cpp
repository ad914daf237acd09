#include "sim/study/bottleneck.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/core/errors.h"
#include "sim/core/number_text.h"
#include "sim/metrics/run_metrics.h"

namespace headway {
namespace {

constexpr std::size_t kSuspects = 7;
constexpr double kSuspicious = 0.05;  // a smaller share is nobody's bottleneck
constexpr double kWorthIt = 0.10;

template <typename Array, typename Index>
double at(const Array& values, Index index) {
  return values[static_cast<std::size_t>(index)];
}

// Shares by suspect of a mean latency with these parts, its queueing by cause.
std::array<double, kSuspects> shares_of(double total_ms,
                                        const std::array<double, kLatencyParts>& parts,
                                        const std::array<double, kHeldBackCauses>& queue,
                                        const RunCausesResult& causes) {
  std::array<double, kSuspects> out{};
  if (total_ms <= 0) return out;
  const auto add = [&](Suspect suspect, double ms) {
    out[static_cast<std::size_t>(suspect)] += ms / total_ms;
  };
  const auto add_by_ridge = [&](double ms, std::size_t prompts, Suspect below) {
    const double all = causes.compute_s[prompts] + causes.bandwidth_s[prompts];
    const double compute = all > 0 ? causes.compute_s[prompts] / all : 0.0;
    add(Suspect::kCompute, ms * compute);
    add(below, ms * (1 - compute));
  };
  add(Suspect::kSeats, at(queue, HeldBack::kSeats));
  add_by_ridge(at(queue, HeldBack::kTokenBudget), 1, Suspect::kTokenBudget);
  add(Suspect::kKv, at(queue, HeldBack::kKvBlocks) + at(parts, LatencyPart::kPreemption));
  add(Suspect::kPolicy, at(queue, HeldBack::kPolicy) + at(queue, HeldBack::kUnsaid));
  add(Suspect::kHost, at(parts, LatencyPart::kHost));
  add_by_ridge(at(queue, HeldBack::kNobody) + at(parts, LatencyPart::kPrefill) +
                   at(parts, LatencyPart::kInterference),
               1, Suspect::kBandwidth);
  add_by_ridge(at(parts, LatencyPart::kDecode), 0, Suspect::kBandwidth);
  return out;
}

bool reserves_whole_answers(const EngineOptions& engine) {
  const bool by_default = engine.scheduler == "static" || engine.scheduler == "orca";
  return engine.kv_allocator.starts_with("reserve") || (engine.kv_allocator.empty() && by_default);
}

class Reliefs {
 public:
  Reliefs(Suspect suspect, std::vector<Relief>& out) : suspect_(suspect), out_(out) {}
  void add(const std::string& key, const std::string& value, const std::string& meaning) {
    out_.push_back({suspect_, {key, value, "the change"}, meaning, "", {}, false});
  }
  void twice(const std::string& key, std::int64_t now, const std::string& meaning) {
    add(key, std::to_string(2 * now), meaning);
  }

 private:
  Suspect suspect_;
  std::vector<Relief>& out_;
};

void relieve_seats(const EngineOptions& engine, Reliefs& out) {
  if (engine.scheduler == "llamacpp") {
    return out.twice("engine.n_parallel", engine.n_parallel, "twice the slots");
  }
  const bool by_batch = engine.batch_size > 0 && engine.batch_size <= engine.max_num_seqs;
  if (engine.scheduler == "static" && by_batch) {
    return out.twice("engine.batch_size", engine.batch_size, "twice the batch");
  }
  out.twice("engine.max_num_seqs", engine.max_num_seqs, "twice the seats");
}

void relieve_kv(const Scenario& s, const ExplainedRun& run, Reliefs& out) {
  if (reserves_whole_answers(s.engine)) {
    out.add("engine.kv_allocator", "paged", "KV in pages, taken as an answer grows");
  }
  const bool pinned = s.engine.num_gpu_blocks_override > 0 || s.engine.kv_cache_memory_bytes > 0;
  const bool wide = s.precision.kv == DType::kBf16 || s.precision.kv == DType::kFp16;
  if (wide && !pinned) out.add("precision.kv", "fp8", "KV in 8 bits, so that twice as much fits");
  out.twice("engine.num_gpu_blocks_override", run.summary.engine.kv_blocks_total,
            "twice the KV cache, as on a GPU with that much more memory");
}

void relieve_budget(const EngineOptions& engine, Reliefs& out) {
  if (engine.scheduler == "sglang") {
    return out.twice("engine.chunked_prefill_size", engine.chunked_prefill_size,
                     "chunks twice as long");
  }
  out.twice("engine.max_num_batched_tokens", engine.max_num_batched_tokens,
            "twice the tokens a step");
}

void relieve_host(const Scenario& s, Reliefs& out) {
  if (s.engine.enforce_eager) out.add("engine.enforce_eager", "false", "CUDA graphs");
  if (!s.engine.async_scheduling) {
    out.add("engine.async_scheduling", "true", "planning the next step while one runs");
  }
  const HostTerms terms = make_blueprint(s).host;
  if (terms.per_step_us > 0) {
    out.add("host.per_step_us", significant(terms.per_step_us / 2, 6), "half the host time a step");
  }
  if (terms.per_request_us > 0) {
    out.add("host.per_request_us", significant(terms.per_request_us / 2, 6),
            "half the host time a request");
  }
}

// More replicas of those that `at` ("cluster", "cluster.pools.0") holds. An autoscaler would take
// those that it is given at the start away again: it is given more to choose from.
void more_replicas(const std::string& at, std::int32_t now, const std::string& of_which,
                   const std::optional<AutoscalerOptions>& autoscaler, Reliefs& out) {
  if (!autoscaler) {
    if (now == 0) return;
    return out.twice(at + ".replicas", now,
                     of_which.empty() ? "twice the GPUs" : "twice the replicas" + of_which);
  }
  const std::string keys = at + ".autoscaler.";
  if (autoscaler->min_replicas < autoscaler->max_replicas) {
    out.add(keys + "min_replicas", std::to_string(autoscaler->max_replicas),
            "the autoscaler's most replicas" + of_which + ", all the time");
  }
  out.twice(keys + "max_replicas", autoscaler->max_replicas,
            "twice the autoscaler's most replicas" + of_which);
}

// With prompts and answers apart, the pool first whose work the suspect is in: prompts are bound by
// arithmetic, answers by memory.
void relieve_gpus(Suspect suspect, const Scenario& s, Reliefs& out) {
  const ClusterOptions& cluster = s.cluster;
  if (cluster.pools.empty()) {
    return more_replicas("cluster", cluster.replicas, "", cluster.lifecycle.autoscaler, out);
  }
  const std::string other = suspect == Suspect::kCompute ? "decode" : "prefill";
  for (const bool last : {false, true}) {
    for (std::size_t i = 0; i < cluster.pools.size(); ++i) {
      const PoolOptions& pool = cluster.pools[i];
      if ((pool.role == other) != last) continue;
      more_replicas("cluster.pools." + std::to_string(i), pool.replicas, " of pool " + pool.name,
                    pool.autoscaler, out);
    }
  }
}

// What nobody but a rule held back: the gateway's, else the scheduler's.
void relieve_policy(const Scenario& s, Reliefs& out) {
  const AdmissionOptions& door = s.cluster.admission;
  const std::string keys = "cluster.admission.";
  if (door.max_outstanding > 0) {
    out.twice(keys + "max_outstanding", door.max_outstanding, "twice the requests let in");
  }
  if (door.max_outstanding_per_replica > 0) {
    out.twice(keys + "max_outstanding_per_replica", door.max_outstanding_per_replica,
              "twice the requests let in a replica");
  }
  if (s.engine.scheduler != "vllm-v1") {
    out.add("engine.scheduler", "vllm-v1", "a policy that admits at every step");
  }
}

bool fell(double before, double after) { return after <= (1 - kWorthIt) * before; }
bool rose(double before, double after) { return after >= (1 + kWorthIt) * before; }

bool helps(const RunSummary& before, const RunSummary& after) {
  const bool better =
      fell(before.ttft_ms.p99, after.ttft_ms.p99) || fell(before.e2el_ms.mean, after.e2el_ms.mean);
  const bool worse = rose(before.ttft_ms.p99, after.ttft_ms.p99) ||
                     rose(before.e2el_ms.mean, after.e2el_ms.mean) || after.failed > before.failed;
  return better && !worse;
}

}  // namespace

std::string_view suspect_name(Suspect suspect) {
  static constexpr std::array<std::string_view, kSuspects> kNames = {
      "compute", "bandwidth", "KV memory", "seats", "token budget", "host", "policy"};
  return kNames[static_cast<std::size_t>(suspect)];
}

double ridge_tokens(const Scenario& s) {
  const double peak = s.gpu.flops(s.precision.weights, s.precision.activations);
  if (s.gpu.memory_bandwidth <= 0 || peak <= 0) return 0;
  const double bytes_per_weight = stored_weight_bytes(s.precision);
  const double dense = peak * bytes_per_weight / (2 * s.gpu.memory_bandwidth);
  const auto all = static_cast<double>(parameter_count(s.model));
  const auto used = static_cast<double>(active_parameter_count(s.model));
  return used > 0 ? dense * all / used : dense;
}

ExplainedRun simulate_explained(const Scenario& scenario, const RunOptions& options) {
  RunMetrics metrics({{scenario.slo.ttft_ms, scenario.slo.tpot_ms, scenario.slo.e2el_ms}, false});
  RunCauses causes(ridge_tokens(scenario));
  const std::array<Observer*, 2> observers = {&metrics, &causes};
  simulate(scenario, observers, options);
  return {metrics.result(), causes.result()};
}

std::vector<SuspectShare> rank_suspects(const ExplainedRun& run) {
  const RunCausesResult& causes = run.causes;
  const auto tail =
      shares_of(causes.tail.ttft_ms, causes.tail.parts_ms, causes.tail.queue_ms, causes);
  const auto mean = shares_of(run.summary.e2el_ms.mean, run.summary.attribution_ms,
                              causes.all.queue_ms, causes);
  std::vector<SuspectShare> out;
  for (std::size_t i = 0; i < kSuspects; ++i) {
    out.push_back({static_cast<Suspect>(i), tail[i], mean[i]});
  }
  std::stable_sort(out.begin(), out.end(), [](const SuspectShare& a, const SuspectShare& b) {
    return a.share() > b.share();
  });
  return out;
}

std::vector<Relief> reliefs(Suspect suspect, const Scenario& s, const ExplainedRun& run) {
  std::vector<Relief> all;
  Reliefs out(suspect, all);
  switch (suspect) {
    case Suspect::kSeats: relieve_seats(s.engine, out); break;
    case Suspect::kKv: relieve_kv(s, run, out); break;
    case Suspect::kTokenBudget: relieve_budget(s.engine, out); break;
    case Suspect::kHost: relieve_host(s, out); break;
    case Suspect::kPolicy:
      relieve_policy(s, out);
      break;
    case Suspect::kBandwidth:
      if ((s.precision.weights == DType::kBf16 || s.precision.weights == DType::kFp16) &&
          s.gpu.flops_fp8 > 0) {
        out.add("precision.weights", "fp8", "half the bytes of weights to read");
      }
      [[fallthrough]];
    case Suspect::kCompute:
      relieve_gpus(suspect, s, out);
      break;
  }
  return all;
}

Bottleneck find_bottleneck(const Scenario& scenario, const ExplainedRun& run,
                           const RunOptions& options, int most) {
  Bottleneck out;
  out.suspects = rank_suspects(run);
  const std::string resolved = to_json_text(scenario);
  for (const SuspectShare& suspect : out.suspects) {
    if (suspect.share() < kSuspicious) break;
    for (Relief& relief : reliefs(suspect.suspect, scenario, run)) {
      const auto same = [&](const Relief& tried) {
        return tried.change.key == relief.change.key && tried.change.value == relief.change.value;
      };
      if (std::any_of(out.tried.begin(), out.tried.end(), same)) continue;
      if (most-- <= 0) return out;
      try {
        const Scenario changed = parse_scenario(resolved, scenario.file, {&relief.change, 1});
        relief.after = simulate_explained(changed, options);
        relief.helps = helps(run.summary, relief.after.summary);
      } catch (const InputError& error) {
        relief.not_run = error.what();
      }
      out.tried.push_back(std::move(relief));
      if (out.tried.back().helps) return out;
    }
  }
  return out;
}

}  // namespace headway
