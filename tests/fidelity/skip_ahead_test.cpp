// INV-8: skipping ahead gives what stepping gives, to the nanosecond.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/random.h"
#include "sim/core/errors.h"
#include "sim/metrics/background.h"
#include "sim/metrics/decode_run.h"
#include "sim/metrics/run_metrics.h"
#include "sim/scenario/parse.h"
#include "tests/contract/scheduler_case.h"
#include "tests/support/bench_engine.h"
#include "tests/support/catch.h"

using namespace headway;

namespace {

// Everything that a run announces, in a form that two runs can be compared by.
class Heard : public Observer {
 public:
  explicit Heard(bool each_step) : each_step_(each_step) {}

  void on_step(const StepRecord& s) override {
    ++steps;
    if (!each_step_) return;
    records.push_back({s.replica, static_cast<std::int64_t>(s.step), s.start.ns(), s.duration.ns(),
                       s.batch, s.prefill_tokens, s.decode_tokens, s.cached_tokens, s.running,
                       s.waiting, s.kv_blocks, s.kv_blocks_total, s.preempted, s.gpu.ns(),
                       s.host.ns(), s.recomputed_tokens, s.kv_tokens_reserved, s.kv_tokens_stored,
                       s.kv_largest_free_run});
  }
  void on_decode_run(const DecodeRunRecord& run) override {
    if (each_step_) {
      Observer::on_decode_run(run);
    } else {
      steps += run.steps();
      for (std::size_t i = 1; i < run.ends.size(); ++i) {
        gaps[(run.ends[i] - run.ends[i - 1]).ns()] += run.first.batch;
      }
    }
  }
  void on_token_gaps(SimTime gap, std::int64_t count, SimTime) override { gaps[gap.ns()] += count; }
  void on_tokens(std::int64_t count, SimTime now) override {
    if (each_step_) tokens[now.ns()] += count;
  }
  void on_preemption(std::uint64_t id, std::uint32_t, SimTime now) override {
    preemptions.emplace_back(now.ns(), id);
  }
  void on_finish(const RequestRecord& r) override {
    requests.emplace_back(
        std::array<std::int64_t, 10>{static_cast<std::int64_t>(r.id), r.session_id, r.arrival.ns(),
                                     r.scheduled.ns(), r.first_token.ns(), r.finish.ns(),
                                     r.held.ns(), r.max_itl.ns(), r.replica, r.failed},
        std::array<std::int32_t, 4>{r.prompt_tokens, r.output_tokens, r.cached_tokens,
                                    r.preemptions},
        r.split, r.finish_reason);
  }

  // What happens in several replicas is told in another order.
  void sort() {
    std::sort(records.begin(), records.end());
    std::sort(preemptions.begin(), preemptions.end());
  }

  std::int64_t steps = 0;
  std::vector<std::array<std::int64_t, 19>> records;
  std::vector<std::tuple<std::array<std::int64_t, 10>, std::array<std::int32_t, 4>, LatencySplit,
                         std::string>>
      requests;
  std::vector<std::pair<std::int64_t, std::uint64_t>> preemptions;
  std::map<std::int64_t, std::int64_t> gaps, tokens;

 private:
  bool each_step_;
};

// Runs both ways and compares. The share of steps that were skipped.
template <typename Run>
double compare(const Run& run, bool each_step = true) {
  Heard skipping(each_step), stepping(each_step);
  RunMetrics skipping_sums, stepping_sums;
  Observer* ears[] = {&skipping, &skipping_sums};
  Observer* other_ears[] = {&stepping, &stepping_sums};
  const RunOutcome a = run(ears, RunOptions{});
  RunOptions by_step;
  by_step.step_by_step = true;
  const RunOutcome b = run(other_ears, by_step);
  CHECK(b.steps_skipped == 0);
  CHECK(a.steps == b.steps);
  CHECK(a.fingerprint == b.fingerprint);
  CHECK(a.end == b.end);
  CHECK(a.preemptions == b.preemptions);
  CHECK(a.prefix_hits == b.prefix_hits);
  skipping.sort();
  stepping.sort();
  CHECK(skipping.steps == static_cast<std::int64_t>(a.steps));
  CHECK(skipping.steps == stepping.steps);
  CHECK((skipping.requests == stepping.requests));
  CHECK((skipping.preemptions == stepping.preemptions));
  CHECK((skipping.gaps == stepping.gaps));
  CHECK((skipping.tokens == stepping.tokens));
  CHECK((skipping.records == stepping.records));
  const RunSummary x = skipping_sums.result(), y = stepping_sums.result();
  CHECK(x.itl_ms.p99 == y.itl_ms.p99);
  CHECK(x.max_output_tokens_per_s == y.max_output_tokens_per_s);
  CHECK(x.engine.busy_s == y.engine.busy_s);
  CHECK(x.engine.gpu_s == y.engine.gpu_s);
  CHECK(x.engine.kv_peak_blocks == y.engine.kv_peak_blocks);
  CHECK(x.engine.mean_batch == Approx(y.engine.mean_batch).epsilon(1e-9));
  CHECK(x.engine.kv_mean_share == Approx(y.engine.kv_mean_share).epsilon(1e-9));
  CHECK(x.engine.kv_internal_waste == Approx(y.engine.kv_internal_waste).epsilon(1e-9));
  CHECK(x.engine.kv_external_waste == Approx(y.engine.kv_external_waste).epsilon(1e-9));
  for (std::size_t i = 0; i < x.engine.class_share.size(); ++i) {
    CHECK(x.engine.class_share[i] == Approx(y.engine.class_share[i]).epsilon(1e-6));
  }
  for (std::size_t i = 0; i < x.engine.coverage_share.size(); ++i) {
    CHECK(x.engine.coverage_share[i] == Approx(y.engine.coverage_share[i]).epsilon(1e-6));
  }
  return static_cast<double>(a.steps_skipped) /
         static_cast<double>(std::max<std::uint64_t>(a.steps, 1));
}

double compare_scenario(const std::string& json, bool each_step = false) {
  const Scenario scenario = parse_scenario(json, "skip_ahead_test");
  return compare([&](std::span<Observer* const> ears,
                     const RunOptions& options) { return simulate(scenario, ears, options); },
                 each_step);
}

// Every step's time depends on the batch, the sum of the lengths and the longest one.
class SlopedCost final : public FixedCost {
 public:
  SlopedCost() : FixedCost(400.0, 3.1, 7.3) {}
  StepCost price(const StepShape& shape) const override {
    StepCost cost = FixedCost::price(shape);
    const double us = 0.0317 * static_cast<double>(shape.decode_kv_tokens) +
                      0.113 * static_cast<double>(shape.decode_kv_max);
    cost.gpu_us += us;
    cost.by_class_us[static_cast<std::size_t>(OpClass::kOther)] += us;
    cost.coverage_us[static_cast<std::size_t>(Coverage::kRoofline)] += us;
    return cost;
  }
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : stream_(seed, "skip ahead") {}
  std::int32_t between(std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(stream_.uniform() * (high - low + 1));
  }
  bool chance(double p) { return stream_.uniform() < p; }

 private:
  RandomStream stream_;
};

// Settings that only this engine knows.
void draw_own_settings(const std::string& scheduler, Draw& draw, BenchEngine& bench) {
  EngineOptions& e = bench.engine();
  SchedulerConfig& config = bench.blueprint.scheduler;
  if (scheduler == "vllm-v0") {
    e.enable_chunked_prefill = draw.chance(0.5);
    if (draw.chance(0.5)) e.preemption_mode = "swap";
    config.num_cpu_blocks = draw.chance(0.3) ? 8 : 400;
    bench.blueprint.replica.swap_us_per_block = 11.0;
    if (draw.chance(0.2)) e.delay_factor = 0.5;
    if (draw.chance(0.3)) e.policy = "priority";
    e.max_num_partial_prefills = draw.chance(0.3) && e.max_num_batched_tokens >= 64 ? 4 : 1;
  } else if (scheduler == "sglang") {
    if (draw.chance(0.5)) e.page_size = draw.chance(0.5) ? e.block_size : 2 * e.block_size;
    e.chunked_prefill_size = (e.chunked_prefill_size / e.page_size + 1) * e.page_size;
    if (draw.chance(0.2)) e.enable_chunked_prefill = false;
    e.enable_mixed_chunk = draw.chance(0.4);
    e.ignore_eos = draw.chance(0.6);
    e.schedule_conservativeness = draw.chance(0.3) ? 0.1 : 1.0;
    e.retract_decode_steps = draw.between(1, 20);
    const char* const policies[] = {"fcfs", "lpm", "dfs-weight", "lof", "random"};
    e.policy = policies[draw.between(0, 4)];
    e.async_scheduling = draw.chance(0.5);
    if (e.async_scheduling) config.batches_in_flight = bench.blueprint.replica.batches_in_flight = 2;
  } else if (scheduler == "trtllm") {
    const char* const capacity[] = {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"};
    e.capacity_scheduler_policy = capacity[draw.between(0, 2)];
    const char* const chunking[] = {"", "FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"};
    e.context_chunking_policy = chunking[draw.between(0, 2)];
  } else if (scheduler == "llamacpp") {
    e.n_parallel = draw.between(1, 8);
    e.n_batch = draw.chance(0.3) ? draw.between(2, 32) : 256;
    e.n_ubatch = draw.chance(0.3) ? draw.between(1, 8) : 64;
  }
}

BenchEngine draw_engine(const std::string& scheduler, std::uint64_t seed) {
  Draw draw(seed);
  BenchEngine bench(scheduler);
  bench.scenario.seed = seed;
  bench.blueprint.cost = std::make_shared<SlopedCost>();
  EngineOptions& e = bench.engine();
  e.block_size = draw.chance(0.2) ? 1 : draw.between(2, 16);
  e.max_num_seqs = draw.between(1, 24);
  e.batch_size = draw.between(1, e.max_num_seqs);
  e.batch_timeout_ms = draw.between(0, 30);
  e.release_at_batch_end = draw.chance(0.5);
  e.max_model_len = bench.blueprint.replica.max_model_len = 512;
  e.max_num_batched_tokens = draw.chance(0.5) ? 2048 : draw.between(24, 200);
  e.chunked_prefill_size = draw.between(16, 128);
  e.enable_prefix_caching = draw.chance(0.5);
  e.watermark = draw.chance(0.5) ? 0 : 0.02;
  if (scheduler == "vllm-v1") {
    e.async_scheduling = draw.chance(0.5);
    if (e.async_scheduling) {
      bench.blueprint.scheduler.batches_in_flight = bench.blueprint.replica.batches_in_flight = 2;
      bench.blueprint.replica.scheduler_assumes_drafts = true;
    }
    if (draw.chance(0.3)) e.policy = "priority";
    e.scheduler_reserve_full_isl = draw.chance(0.3);
    if (draw.chance(0.2)) e.long_prefill_token_threshold = draw.between(8, 64);
  }
  if ((scheduler == "static" || scheduler == "orca") && draw.chance(0.5)) {
    e.kv_allocator = draw.chance(0.5) ? "paged" : "reserve-exact";
  }
  const std::int32_t longest = draw.between(8, 400);
  // Sometimes plenty of memory, sometimes room for a few sequences only.
  const std::int32_t tokens = draw.chance(0.4) ? 40'000 : 600 + draw.between(0, 1500);
  bench.blueprint.scheduler.num_blocks = tokens / e.block_size + 2;
  if (draw.chance(0.7)) bench.blueprint.replica.host.per_step = SimTime::from_us(draw.between(1, 300));
  if (draw.chance(0.5)) bench.blueprint.replica.host.per_sequence = SimTime::from_us(draw.between(1, 9));
  if (draw.chance(0.5))
    bench.blueprint.replica.host.per_request = SimTime::from_us(draw.between(1, 5000));
  bench.scenario.cluster.replicas = draw.chance(0.7) ? 1 : draw.between(2, 4);
  bench.scenario.cluster.router = draw.chance(0.5) ? "least-outstanding" : "round-robin";
  WorkloadOptions& w = bench.workload();
  w.num_prompts = draw.between(1, 60);
  w.request_rate = draw.chance(0.2) ? 1e6 : draw.between(2, 400);
  if (draw.chance(0.3)) w.max_concurrency = draw.between(1, 20);
  w.input_len = {.distribution = "uniform", .low = 1, .high = static_cast<double>(draw.between(1, 100))};
  w.output_len = {.distribution = "uniform", .low = 1, .high = static_cast<double>(longest)};
  if (draw.chance(0.2)) w.output_len = {.distribution = "fixed", .value = static_cast<double>(longest)};
  if (draw.chance(0.3)) {
    SessionOptions sessions;
    sessions.turns = {.distribution = "uniform", .low = 1, .high = 4};
    sessions.new_input_len = {.distribution = "uniform", .low = 1, .high = 30};
    sessions.shared_prefix_tokens = draw.between(0, 40);
    w.sessions = sessions;
    w.output_len = {.distribution = "uniform", .low = 1, .high = 60};
  }
  draw_own_settings(scheduler, draw, bench);
  return bench;
}

// Schedulers that promise repeats; the others step, which is always right.
const std::set<std::string> kPromises = {"vllm-v1", "vllm-v0", "sglang", "static", "orca",
                                         "vllm-0.2", "sarathi", "trtllm", "llamacpp",
                                         "fcfs-nochunk", "sjf", "vtc", "edf"};

std::string scenario(const std::string& engine, const std::string& rest,
                     const std::string& model = "qwen3-14b") {
  return R"({"model": ")" + model + R"(", "gpu": "h100-sxm", "profile": "roofline",
             "engine": {"scheduler": "vllm-v1")" + engine + "}, " + rest + "}";
}

void compare_drawn(std::uint64_t first_seed, std::uint64_t cases) {
  for (const SchedulerEntry& entry : scheduler_table()) {
    const std::string name(entry.name);
    double skipped = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + cases; ++seed) {
      INFO(name << " seed " << seed);
      const BenchEngine bench = draw_engine(name, seed);
      skipped += compare([&](std::span<Observer* const> ears, const RunOptions& options) {
        return simulate(bench.scenario, bench.blueprint, ears, options);
      });
    }
    INFO(name);
    if (kPromises.count(name) > 0) CHECK(skipped / static_cast<double>(cases) > 0.5);
  }
}

}  // namespace

TEST_CASE("INV-8: small random cases under every scheduler", "[fidelity][skip]") {
  compare_drawn(1, 200);
}

TEST_CASE("INV-8: layers that keep windows, states and latents, under every scheduler",
          "[fidelity][skip][layout]") {
  for (const SchedulerEntry& entry : scheduler_table()) {
    for (const auto& [name, model] : contract::small_models()) {
      double skipped = 0;
      constexpr std::uint64_t kCases = 12;
      for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
        INFO(entry.name << ", " << name << ", seed " << seed);
        BenchEngine bench = draw_engine(std::string(entry.name), seed);
        SchedulerConfig& config = bench.blueprint.scheduler;
        const KvLayout layout = kv_layout(model, {.rule = entry.kv_rule,
                                                  .block_size = config.engine.block_size,
                                                  .max_model_len = config.engine.max_model_len});
        const std::int64_t least =
            layout.most(config.engine.max_model_len, config.engine.max_num_batched_tokens) + 1;
        if (seed % 3 != 0) config.num_blocks = std::max(config.num_blocks, least);
        apply_layout(layout, layout.state_bytes > 0 ? 5 : 0, config);
        skipped += compare([&](std::span<Observer* const> ears, const RunOptions& options) {
          return simulate(bench.scenario, bench.blueprint, ears, options);
        });
      }
      INFO(entry.name << ", " << name);
      if (!entry.diffuses) CHECK(skipped / kCases > 0.2);
    }
  }
}

// Not part of the suite, for its minutes: build/headway_tests "[.thorough]"
TEST_CASE("INV-8: thousands of small random cases under every scheduler", "[.thorough]") {
  compare_drawn(1000, 3000);
}

TEST_CASE("INV-8: the Azure traces", "[fidelity][skip]") {
  for (const char* trace : {"azure-2023-conv", "azure-2023-code"}) {
    for (const char* async : {"true", "false"}) {
      INFO(trace << " async " << async);
      const double skipped = compare_scenario(scenario(
          std::string(R"(, "async_scheduling": )") + async + R"(, "enable_prefix_caching": false)",
          std::string(R"("workload": {"trace": ")") + trace + R"(", "limit": 4000})"));
      CHECK(skipped > 0.2);
    }
  }
}

TEST_CASE("INV-8: Mooncake with prefix caching", "[fidelity][skip]") {
  const double skipped = compare_scenario(
      scenario(R"(, "enable_prefix_caching": true, "async_scheduling": false,
                 "max_model_len": 131072, "num_gpu_blocks_override": 30000)",
               R"("workload": {"trace": "mooncake-conversation", "limit": 600},
                  "cluster": {"replicas": 4, "router": "least-outstanding"})",
               "llama-3.1-8b"));
  CHECK(skipped > 0.2);
}

TEST_CASE("INV-8: a cache that is far too small", "[fidelity][skip]") {
  for (const char* async : {"true", "false"}) {
    const Scenario parsed = parse_scenario(
        scenario(std::string(R"(, "num_gpu_blocks_override": 1200, "max_model_len": 16384,
                 "enable_prefix_caching": false, "async_scheduling": )") + async,
                 R"("workload": {"num_prompts": 1500, "request_rate": 40,
                    "input_len": {"distribution": "uniform", "low": 10, "high": 400},
                    "output_len": {"distribution": "uniform", "low": 10, "high": 900}})"),
        "skip_ahead_test");
    std::int64_t preemptions = 0;
    const double skipped = compare(
        [&](std::span<Observer* const> ears, const RunOptions& options) {
          const RunOutcome outcome = simulate(parsed, ears, options);
          preemptions = outcome.preemptions;
          return outcome;
        },
        false);
    CHECK(preemptions > 1000);
    CHECK(skipped > 0.1);
  }
}

TEST_CASE("INV-8: other engines short of KV", "[fidelity][skip]") {
  for (const char* engine : {"vllm-v0", "vllm-v0 chunked", "vllm-v0 swap", "sglang", "sglang async",
                             "trtllm", "orca paged", "vllm-0.2", "sarathi", "sjf", "vtc"}) {
    INFO(engine);
    const std::string text(engine);
    const std::string name = text.substr(0, text.find(' '));
    BenchEngine bench(name);
    bench.blueprint.cost = std::make_shared<SlopedCost>();
    EngineOptions& e = bench.engine();
    e.enable_chunked_prefill = text != "vllm-v0" && text != "vllm-v0 swap";
    e.enable_prefix_caching = true;
    e.capacity_scheduler_policy = "MAX_UTILIZATION";
    e.init_new_token_ratio = 1.0;  // sglang's reserve falls fast, to a seventh of it
    e.retract_decode_steps = 1;
    e.ignore_eos = false;
    if (text == "orca paged") e.kv_allocator = "paged";
    SchedulerConfig& config = bench.blueprint.scheduler;
    // A newcomer to sglang must find room for its whole answer: many small ones in a larger pool.
    config.num_blocks = name == "sglang" ? 800 : 160;
    if (text == "vllm-v0 swap") {
      e.preemption_mode = "swap";
      config.num_cpu_blocks = 300;
      bench.blueprint.replica.swap_us_per_block = 11.0;
    }
    if (text == "sglang async") {
      e.async_scheduling = true;
      config.batches_in_flight = bench.blueprint.replica.batches_in_flight = 2;
    }
    WorkloadOptions& w = bench.workload();
    w.num_prompts = name == "sglang" ? 3000 : 600;
    w.request_rate = name == "sglang" ? 300 : 60;
    w.input_len = {.distribution = "uniform", .low = 10, .high = 100};
    w.output_len = {.distribution = "uniform", .low = 10, .high = 500};
    std::int64_t preemptions = 0;
    const double skipped = compare([&](std::span<Observer* const> ears, const RunOptions& options) {
      const RunOutcome outcome = simulate(bench.scenario, bench.blueprint, ears, options);
      preemptions = outcome.preemptions;
      return outcome;
    });
    CHECK(preemptions > (name == "sglang" ? 40 : 500));
    CHECK(skipped > 0.3);
  }
}

TEST_CASE("INV-8: closed loops and several replicas", "[fidelity][skip]") {
  for (const char* cluster : {R"({"replicas": 1})", R"({"replicas": 3, "router": "round-robin"})"}) {
    for (const char* async : {"true", "false"}) {
      INFO(cluster << " async " << async);
      const double skipped = compare_scenario(
          scenario(std::string(R"(, "async_scheduling": )") + async,
                   std::string(R"("cluster": )") + cluster +
                       R"(, "workload": {"num_prompts": 600, "max_concurrency": 48,
                          "input_len": {"distribution": "uniform", "low": 10, "high": 900},
                          "output_len": {"distribution": "uniform", "low": 1, "high": 900}})"),
          true);
      CHECK(skipped > 0.4);
    }
  }
}

// The sum of a run's ends, in ns since the start, does not fit 64 bits.
TEST_CASE("INV-8: long answers years into simulated time", "[fidelity][skip]") {
  CHECK(compare_scenario(R"({"model": "qwen3-14b", "gpu": "h100-sxm",
      "workload": {"num_prompts": 3, "request_rate": 2e-8, "input_len": 100,
                   "output_len": 1500}})",
                         true) > 0.9);
}

TEST_CASE("INV-7: the same with reading and summing on threads of their own", "[fidelity][skip]") {
  const Scenario parsed = parse_scenario(
      scenario(R"(, "enable_prefix_caching": false)",
               R"("workload": {"trace": "azure-2023-conv", "limit": 3000})"),
      "skip_ahead_test");
  const auto sums = [&](int threads) {
    RunMetrics metrics;
    Heard heard(true);
    std::optional<BackgroundObserver> behind, heard_behind;
    Observer* ears[] = {&metrics, &heard};
    if (threads > 1) {
      ears[0] = &behind.emplace(metrics);
      ears[1] = &heard_behind.emplace(heard);
    }
    RunOptions options;
    options.threads = threads;
    const RunOutcome outcome = simulate(parsed, ears, options);
    const RunSummary s = metrics.result();
    return std::tuple(outcome.fingerprint, heard.requests, heard.records, heard.gaps, heard.tokens,
                      s.ttft_ms.mean, s.tpot_ms.p99, s.itl_ms.p99, s.engine.mean_batch,
                      s.engine.kv_mean_share);
  };
  CHECK((sums(1) == sums(3)));
}

TEST_CASE("what a listener on another thread throws reaches the simulation", "[fidelity][skip]") {
  struct Fails final : Observer {
    void on_finish(const RequestRecord&) override { throw InternalError("heard too much"); }
  } fails;
  BackgroundObserver behind(fails);
  Observer* ears[] = {&behind};
  const BenchEngine bench = draw_engine("vllm-v1", 1);
  CHECK_THROWS_AS(simulate(bench.scenario, bench.blueprint, ears), InternalError);
}
