#include "kernels/validate/validation.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <utility>

#include "kernels/profiler/session.h"
#include "kernels/profiler/tables.h"
#include "kernels/validate/host_fit.h"
#include "kernels/validate/points.h"
#include "sim/cluster/simulation.h"
#include "sim/core/errors.h"
#include "sim/metrics/run_metrics.h"
#include "sim/model/hf_config.h"
#include "sim/workload/client.h"
#include "sim/workload/request_source.h"

namespace headway::kernels {
namespace {

constexpr std::int64_t kCapacityRequests = 48;
constexpr double kNoisyBeyond = 0.05;
constexpr double kLongestProfile_s = 60;

// One run of the engine with its figures.
struct Run {
  EngineRun engine;
  RunSummary summary;
  double busy() const { return engine.wall_busy_s > 0 ? engine.cpu_s / engine.wall_busy_s : 1; }
};

std::int32_t draft_layers(const Scenario& s) {
  if (s.speculation.method != "draft_model") return 0;
  const ModelSpec draft =
      load_model(s.speculation.draft_model, s.folder(), s.file, "speculation.draft_model");
  const bool same = draft.hidden_size == s.model.hidden_size &&
                    draft.vocab_size == s.model.vocab_size &&
                    draft.num_hidden_layers() <= s.model.num_hidden_layers() &&
                    std::equal(draft.layers.begin(), draft.layers.end(), s.model.layers.begin());
  if (!same) {
    throw InputError({s.file, "speculation.draft_model", draft.name,
                      "the model itself with fewer layers: the engine drafts with its first ones"});
  }
  return draft.num_hidden_layers();
}

class Validator {
 public:
  Validator(const Scenario& scenario, ValidationDevice& device, const ValidateOptions& options)
      : scenario_(scenario), device_(device), options_(options) {
    const Blueprint blueprint = make_blueprint(scenario_);
    config_ = {blueprint.scheduler, scenario_.engine.max_model_len, draft_layers(scenario_)};
    check_engine(config_);
    BackendOptions o;
    o.pages = blueprint.scheduler.num_blocks;
    o.page_size = scenario_.engine.block_size;
    o.max_rows = std::max(scenario_.engine.max_num_batched_tokens, scenario_.engine.max_num_seqs);
    o.max_sampled = scenario_.engine.max_num_seqs *
                    (1 + std::max(0, blueprint.scheduler.num_speculative_tokens));
    o.seed = scenario_.seed;
    backend_ = device_.make_engine(o);
    points_ = points_for(device_.kernels(), scenario_);
  }

  Validation result() {
    Validation v;
    v.scenario = scenario_;
    v.device = device_.describe();
    v.profile_points = points_.size();
    v.least_busy = options_.least_busy;
    find_capacity(v);
    SessionOptions session_options;
    // No width is narrow enough: every point is visited again and again, as time allows.
    session_options.rule = {.min_samples = 5, .max_samples = 15, .target = 0, .cap_s = 0.02};
    session_options.max_visits = 2 + options_.rounds;
    Session session(device_.profiler(), points_, sentinel(), session_options);
    profile_kernels(session, options_.profile_s);
    plan_regimes(v);
    for (int round = 1; round <= options_.rounds; ++round) {
      for (std::size_t i = 0; i < v.regimes.size(); ++i) {
        say("round " + std::to_string(round) + " of " + std::to_string(options_.rounds) + ": " +
            v.regimes[i].regime.name);
        run_regime(i, v.regimes[i]);
        profile_kernels(session, options_.profile_s / 4);
      }
    }
    make_profile(session, v);
    predict(v);
    say("comparing tokens with the reference");
    v.tokens = device_.check_tokens(conversations_, *backend_, scenario_.engine.block_size);
    return v;
  }

 private:
  Clock& clock() { return options_.clock != nullptr ? *options_.clock : wall_clock_; }

  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  Run run(const Scenario& s) {
    Run r;
    RunMetrics metrics;
    Observer* const observers[] = {&metrics};
    std::vector<std::string> notes;
    Client client(open_workload(s.workload, s.folder(), s.seed, notes), s.workload.max_concurrency);
    r.engine = Engine(config_, *backend_, clock()).run(client, observers);
    r.summary = metrics.result();
    if (r.summary.failed > 0) {
      throw InputError({s.file, "workload", std::to_string(r.summary.failed) + " refused requests",
                        "requests that fit max_model_len and the KV cache"});
    }
    conversations_.insert(conversations_.end(), r.engine.conversations.begin(),
                          r.engine.conversations.end());
    return r;
  }

  // The first run warms up; of two more, the faster one: capacity is what is left undisturbed.
  void find_capacity(Validation& v) {
    const Scenario burst = all_at_once(scenario_, std::max(kCapacityRequests, options_.fewest));
    for (int i = 0; i < 3; ++i) {
      say("capacity, run " + std::to_string(i + 1) + " of 3");
      const Run r = run(burst);
      if (i == 0 || r.summary.request_throughput < v.capacity) continue;
      v.capacity = r.summary.request_throughput;
      v.capacity_tokens = r.summary.output_throughput;
    }
  }

  Point sentinel() const {
    for (const Point& p : points_) {
      if (p.entry->op == "gemm" && p.call.key[2] >= 32) return p;
    }
    return {};
  }

  void profile_kernels(Session& session, double budget_s) {
    say("profile, " + std::to_string(points_.size()) + " points");
    session.run(budget_s);
    // Every point once, however slow the machine.
    for (double more_s = budget_s; !session.complete() && more_s < kLongestProfile_s; more_s *= 2) {
      session.run(more_s);
    }
    SIM_CHECK(session.complete(), "the profile needs more time than it was given");
  }

  void plan_regimes(Validation& v) {
    for (const Regime& regime : kRegimes) {
      RegimeResult r;
      r.regime = regime;
      r.rate = regime.load * v.capacity;
      scenarios_.push_back(
          at_rate(scenario_, r.rate, regime.length * options_.seconds, options_.fewest));
      v.regimes.push_back(r);
    }
    runs_.resize(v.regimes.size());
    left_over_.resize(v.regimes.size());
  }

  // Again where something else had the CPU, now and then; the least disturbed try stands in for
  // none.
  void run_regime(std::size_t index, RegimeResult& result) {
    for (bool again = true; again;) {
      Run r = run(scenarios_[index]);
      result.requests = r.engine.requests;
      if (r.busy() >= options_.least_busy) {
        runs_[index].push_back(std::move(r));
        return;
      }
      again = result.disturbed++ < options_.retries;
      std::optional<Run>& kept = left_over_[index];
      if (!kept || r.busy() > kept->busy()) kept = std::move(r);
    }
  }

  const std::vector<Run>& runs_of(std::size_t index) {
    if (runs_[index].empty()) runs_[index].push_back(std::move(*left_over_[index]));
    return runs_[index];
  }

  void make_profile(const Session& session, Validation& v) {
    v.profile.name = "measured between the runs";
    v.profile.gpu = scenario_.gpu.name;
    v.profile.run_sigma = session.run_sigma();
    v.profile.tables = make_tables(session, device_.profiler().method(), kNoisyBeyond);
    average_visits(session, v.profile.tables);
    std::vector<StepTiming> steps;
    double intake_us = 0;
    std::int64_t requests = 0, chances = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      for (const Run& r : runs_of(i)) {
        steps.insert(steps.end(), r.engine.steps.begin(), r.engine.steps.end());
        intake_us += r.engine.intake_us;
        requests += r.engine.requests;
        v.speculation.accepted_at.resize(r.engine.speculation.accepted_at.size());
        v.speculation.add(r.engine.speculation);
        chances += r.engine.draft_chances;
      }
    }
    v.host = fit_host_terms(steps, intake_us, requests);
    v.profile.host = v.host;
    v.speculates = scenario_.speculation.on();
    if (chances > 0) {
      v.draft_hit_rate =
          std::min(1.0, static_cast<double>(v.speculation.drafts) / static_cast<double>(chances));
    }
    close(steps, v);
  }

  // A machine's speed drifts while runs and profile take turns, and a run's time is an average over
  // the drift. So is this: the mean of the visits' medians, where a table would have the median of
  // all.
  static void average_visits(const Session& session, std::vector<ProfileTable>& tables) {
    for (std::size_t i = 0; i < session.points().size(); ++i) {
      const Point& point = session.points()[i];
      const std::vector<double>& medians = session.measured()[i].visit_medians;
      if (medians.empty()) continue;
      const double us = std::accumulate(medians.begin(), medians.end(), 0.0) /
                        static_cast<double>(medians.size());
      for (ProfileTable& table : tables) {
        if (table.op != point.entry->op || table.variant != table_variant(*point.entry)) continue;
        for (std::size_t row = 0; row < table.rows(); ++row) {
          const auto key =
              table.keys.begin() + static_cast<std::ptrdiff_t>(row * table.axes.size());
          if (!std::equal(point.call.key.begin(), point.call.key.end(), key)) continue;
          table.time_us[row] = us;
          table.low_us[row] = std::min(table.low_us[row], us);
          table.high_us[row] = std::max(table.high_us[row], us);
        }
      }
    }
  }

  // The same steps, as they ran and as the profile prices them.
  void close(const std::vector<StepTiming>& steps, Validation& v) const {
    const Blueprint blueprint = make_blueprint(scenario_, v.profile);
    for (const StepTiming& step : steps) {
      if (step.busy < options_.least_busy) continue;
      StepClosure& closure = step.prefill_tokens > 0 ? v.prefill_steps : v.decode_steps;
      ++closure.steps;
      closure.measured_us += step.kernels_us;
      closure.priced_us += blueprint.cost->price(step.shape).gpu_us;
    }
  }

  void predict(Validation& v) {
    for (std::size_t i = 0; i < v.regimes.size(); ++i) {
      RegimeResult& result = v.regimes[i];
      Scenario s = scenarios_[i];
      if (v.speculates) {  // as it was: random weights have no published acceptance
        s.speculation.acceptance = v.speculation.per_position();
        s.speculation.draft_hit_rate = v.draft_hit_rate;
      }
      RunMetrics metrics;
      Observer* const observers[] = {&metrics};
      simulate(s, make_blueprint(s, v.profile), observers);
      const Figures predicted = figures_of(metrics.result());
      const std::vector<Run>& runs = runs_of(i);
      for (int f = 0; f < kFigures; ++f) {
        std::vector<double> values;
        for (const Run& r : runs)
          values.push_back(figures_of(r.summary)[static_cast<std::size_t>(f)]);
        result.figures[static_cast<std::size_t>(f)] =
            compare(values, predicted[static_cast<std::size_t>(f)]);
      }
      result.runs = static_cast<int>(runs.size());
      for (const Run& r : runs) result.busy = std::min(result.busy, r.busy());
    }
  }

  const Scenario scenario_;
  ValidationDevice& device_;
  const ValidateOptions& options_;
  EngineConfig config_;
  std::unique_ptr<EngineBackend> backend_;
  WallClock wall_clock_;
  std::vector<Point> points_;
  std::vector<Scenario> scenarios_;  // by regime
  std::vector<std::vector<Run>> runs_;
  std::vector<std::optional<Run>> left_over_;  // the least disturbed of those that do not count
  std::vector<Conversation> conversations_;
};

}  // namespace

bool Validation::accurate() const {
  if (tokens.different > 0) return false;
  for (const RegimeResult& r : regimes) {
    if (!r.regime.below_knee) continue;
    for (int f = 0; f < kFigures; ++f) {
      if (figure_rows()[static_cast<std::size_t>(f)].judged &&
          !r.figures[static_cast<std::size_t>(f)].within()) {
        return false;
      }
    }
  }
  return true;
}

std::vector<std::string> Validation::unjudged() const {
  std::vector<std::string> names;
  for (const RegimeResult& r : regimes) {
    if (r.regime.below_knee && r.busy < least_busy) names.emplace_back(r.regime.name);
  }
  return names;
}

Scenario as_engine_runs(const Scenario& scenario, std::vector<std::string>& notes) {
  Scenario s = scenario;
  const auto change = [&](bool differs, const std::string& note) {
    if (differs) notes.push_back(note);
  };
  change(s.profile != "roofline", "profile " + s.profile + " is not used: one is measured here");
  change(s.engine.async_scheduling,
         "engine.async_scheduling false: this engine plans after a step");
  change(!s.engine.enforce_eager, "engine.enforce_eager true: steps are not padded");
  change(s.host.per_step_us || s.host.per_request_us || s.host.per_sequence_us,
         "host terms are measured, not taken from the scenario");
  change(
      s.speculation.method == "draft_model",
      "speculation draft_model: this engine drafts with the target's first layers over the "
      "target's "
      "KV; the simulator prices a drafter that reads every prompt itself, so it predicts too much");
  s.profile = "roofline";
  s.engine.async_scheduling = false;
  s.engine.enforce_eager = true;
  s.host = {};
  const ParallelOptions& p = s.parallel;
  const bool one_replica = s.cluster.replicas == 1 && s.cluster.pools.empty();
  if (!one_replica || p.tensor_parallel_size != 1 || p.pipeline_parallel_size != 1) {
    throw InputError({s.file, "parallel", "several GPUs or replicas", "one of each"});
  }
  if (s.workload.samples > 1 || s.workload.beam_width > 1) {
    throw InputError({s.file, "workload.samples", "several sequences a request",
                      "one: this engine runs no samples and no beams"});
  }
  if (s.engine.num_gpu_blocks_override == 0) {
    const std::int64_t seats = std::min(s.engine.max_num_seqs, 64);
    const std::int64_t blocks =
        seats * ((s.engine.max_model_len + s.engine.block_size - 1) / s.engine.block_size) + 1;
    s.engine.num_gpu_blocks_override = blocks;
    notes.push_back("engine.num_gpu_blocks_override " + std::to_string(blocks) + ": room for " +
                    std::to_string(seats) + " longest sequences");
  }
  return s;
}

Validation validate(const Scenario& scenario, ValidationDevice& device,
                    const ValidateOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  Validation v = Validator(scenario, device, options).result();
  v.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return v;
}

}  // namespace headway::kernels
