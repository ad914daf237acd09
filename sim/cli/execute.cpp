#include "sim/cli/execute.h"

#include <chrono>
#include <cstdio>
#include <optional>

#include "sim/core/build_info.h"
#include "sim/metrics/background.h"
#include "sim/metrics/pool_metrics.h"
#include "sim/report/progress.h"
#include "sim/report/terminal.h"
#include "sim/scenario/metrics_options.h"
#include "sim/scenario/parse.h"
#include "sim/scenario/pools.h"

namespace headway {
namespace {

class FailureCounter final : public Observer {
 public:
  void on_finish(const RequestRecord& request) override {
    if (request.failed) ++reasons[request.finish_reason];
  }
  bool hears_steps() const override { return false; }
  std::map<std::string, std::int64_t> reasons;
};

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

RunInfo describe_run(const Scenario& s, const RunOutcome& outcome, double wall_s) {
  RunInfo info;
  info.model_id = s.model_name;
  info.date = current_date();
  info.wall_s = wall_s;
  if (s.workload.generated()) {
    info.request_rate = s.workload.request_rate;
    info.burstiness = s.workload.burstiness;
  }
  info.max_concurrency = s.workload.max_concurrency;
  info.version = program_version();
  info.scenario_json = to_json_text(s);
  info.seed = s.seed;
  info.fingerprint = hex(outcome.fingerprint);
  info.events = static_cast<std::int64_t>(outcome.events);
  info.steps_skipped = static_cast<std::int64_t>(outcome.steps_skipped);
  info.num_gpu_blocks = outcome.budget.num_gpu_blocks;
  info.kv_layout = describe(outcome.budget.layout);
  info.prefix_queries = outcome.prefix_queries;
  info.prefix_hits = outcome.prefix_hits;
  info.host_hits = outcome.host_hits;
  if (const TransferTotals& t = outcome.transfers; t.transfers > 0) {
    info.transfers = TransferInfo{t.transfers, t.bytes, t.mean_ms, t.mean_wait_ms,
                                  t.link_utilisation};
  }
  if (s.speculation.on()) {
    const SpeculationStats& spec = outcome.speculation;
    info.speculation = SpeculationInfo{spec.drafts,
                                       spec.drafted_tokens,
                                       spec.accepted_tokens,
                                       spec.acceptance_rate(),
                                       spec.mean_acceptance_length(),
                                       spec.per_position()};
  }
  if (const SharingStats& sharing = outcome.sharing; sharing.requests > 0) {
    info.sharing = SharingInfo{sharing.requests,       sharing.sequences,
                               sharing.forks,          sharing.drops,
                               sharing.copied_blocks,  sharing.peak_blocks,
                               sharing.peak_blocks_unshared, sharing.saving()};
  }
  for (const BudgetLine& line : budget_lines(outcome.budget)) {
    info.kv_budget_bytes.emplace_back(line.key, line.bytes);
  }
  info.replica_failures = outcome.failures;
  info.retries = outcome.retries;
  info.profile_json = outcome.profile_provenance_json;
  return info;
}

// Where the pools' engines are numbered.
std::vector<std::uint32_t> engines_of(const std::vector<Scenario>& pools) {
  std::vector<std::uint32_t> engines;
  for (const Scenario& s : pools) {
    const std::int32_t most = most_replicas(s.cluster.replicas, s.cluster.lifecycle.autoscaler);
    engines.push_back(static_cast<std::uint32_t>(most) *
                      static_cast<std::uint32_t>(s.parallel.data_parallel_size));
  }
  return engines;
}

std::vector<PoolInfo> describe_pools(const Scenario& scenario, const std::vector<Scenario>& pools,
                                     const std::vector<PoolSummary>& sums,
                                     const RunOutcome& outcome) {
  std::vector<PoolInfo> infos;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const Scenario& s = pools[i];
    const UtilisationSummary& engine = sums[i].engine;
    const PoolOutcome& pool = outcome.pools[i];
    const std::int64_t gpus = gpus_of(s.parallel);
    const double engine_s = pool.provisioned_s * pool.engines;
    PoolInfo info;
    const bool alike = scenario.cluster.pools.empty();
    info.name = alike ? "All replicas" : scenario.cluster.pools[i].name;
    info.role = alike ? "both" : scenario.cluster.pools[i].role;
    info.replicas = s.cluster.replicas;
    info.gpus = info.replicas * gpus;
    info.completed = sums[i].completed;
    info.failed = sums[i].failed;
    info.utilisation = engine_s > 0 ? engine.busy_s / engine_s : 0;
    info.kv_peak_share = engine.kv_peak_share;
    info.mean_running = engine.mean_running;
    info.mean_waiting = engine.mean_waiting;
    const double end_s = outcome.end.seconds();
    info.mean_replicas = end_s > 0 ? pool.provisioned_s / end_s : 0;
    info.gpu_hours = pool.provisioned_s * static_cast<double>(gpus) / 3600;
    if (s.gpu.price_per_hour > 0) info.usd = info.gpu_hours * s.gpu.price_per_hour;
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

bool wants_progress(bool quiet) { return !quiet && is_terminal(stderr); }

Execution execute(const Scenario& scenario, std::span<Observer* const> extra, bool show_progress,
                  const RunOptions& options, const Profile* profile, bool with_curves) {
  const WorkloadOptions& w = scenario.workload;
  RunMetrics metrics(metrics_options(scenario.slo));
  FailureCounter failures;
  ProgressLine progress(stderr, show_progress,
                        w.limit > 0         ? w.limit
                        : w.num_prompts > 0 ? w.num_prompts
                                            : -1);
  std::optional<BackgroundObserver> background;
  if (options.threads > 1) background.emplace(metrics);
  Observer* const sums = background ? static_cast<Observer*>(&*background) : &metrics;
  std::vector<Observer*> observers = {sums, &failures, &progress};
  observers.insert(observers.end(), extra.begin(), extra.end());
  std::optional<PoolMetrics> pools;
  std::vector<Scenario> kinds;
  if (!scenario.cluster.pools.empty() || fleet_changes(scenario)) {
    kinds = pool_scenarios(scenario);
    pools.emplace(engines_of(kinds));
    observers.push_back(&*pools);
  }

  const auto start = std::chrono::steady_clock::now();
  Execution result;
  result.outcome = simulate(scenario, make_blueprints(scenario, profile), observers, options);
  const double wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.summary = metrics.result();
  if (with_curves) result.curves = curves_of(metrics.latency());
  result.info = describe_run(scenario, result.outcome, wall_s);
  if (pools) {
    const SimTime span = SimTime::from_seconds(result.summary.duration_s);
    result.info.pools = describe_pools(scenario, kinds, pools->result(span), result.outcome);
  }
  result.failures = std::move(failures.reasons);
  return result;
}

std::string notes_text(const Execution& execution) {
  std::string text;
  for (const std::string& note : execution.outcome.notes) text += "note: " + note + "\n";
  for (const auto& [reason, count] : execution.failures) {
    text += "note: " + std::to_string(count) + (count == 1 ? " request" : " requests") +
            " failed: " + reason + "\n";
  }
  return text;
}

}  // namespace headway
