// The structure of an OpenMetrics file, and its totals against the run's.
#include "sim/report/openmetrics.h"

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "sim/metrics/run_metrics.h"
#include "tests/support/busy_engine.h"
#include "tests/support/catch.h"
#include "tests/support/run_program.h"

using namespace headway;
using test::TempFolder;

namespace {

struct Series {
  std::string name;  // with labels
  std::vector<std::pair<double, double>> samples;  // time, value
};

struct Parsed {
  std::map<std::string, std::string> types;         // by family
  std::vector<Series> series;                       // in order of the file
  bool ends_with_eof = false;

  double last(const std::string& name) const {  // summed over engines
    double sum = 0;
    for (const Series& s : series) {
      if (s.name.starts_with(name + "{")) sum += s.samples.back().second;
    }
    return sum;
  }
};

// A metric of the family: its labels, but for a bucket's bound.
std::string metric_of(const std::string& name) {
  std::string labels = name.substr(name.find('{'));
  if (const auto le = labels.find(",le="); le != std::string::npos) labels.resize(le);
  return labels.ends_with('}') ? labels : labels + "}";
}

// OpenMetrics: the lines of a metric stand together, and its points are in order of time, a
// histogram's buckets, count and sum of one time together.
Parsed parse(const std::string& text) {
  Parsed out;
  out.ends_with_eof = text.ends_with("\n# EOF\n");
  std::istringstream in(text);
  std::string family, metric;
  std::set<std::string> metrics;
  std::map<std::string, std::size_t> known;
  double latest = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# TYPE ")) {
      const auto space = line.rfind(' ');
      family = line.substr(7, space - 7);
      CHECK_FALSE(out.types.contains(family));  // a family stands in one place
      out.types[family] = line.substr(space + 1);
    }
    if (line.starts_with('#')) continue;
    const auto end = line.find("} ");
    REQUIRE(end != std::string::npos);
    const std::string name = line.substr(0, end + 1);
    CHECK(name.starts_with(family));
    double value = 0, time = 0;
    REQUIRE((std::istringstream(line.substr(end + 2)) >> value >> time));
    if (const std::string its = family + metric_of(name); its != metric) {
      INFO(its);
      CHECK(metrics.insert(its).second);
      metric = its;
      latest = time;
    }
    if (time < latest) FAIL(name << " goes back to " << time);
    latest = time;
    const auto [at, fresh] = known.try_emplace(name, out.series.size());
    if (fresh) out.series.push_back({name, {}});
    out.series[at->second].samples.emplace_back(time, value);
  }
  return out;
}

Parsed metrics_of(BenchEngine& bench, RunMetrics& sums, std::optional<double> interval) {
  const TempFolder folder;
  const std::string path = folder / "metrics.txt";
  OpenMetrics metrics(path, {"a \"model\"", 1024, 16, interval});
  const std::array<Observer*, 2> observers = {&metrics, &sums};
  bench.run(observers);
  metrics.commit();
  return parse(test::read_text(path));
}

}  // namespace

TEST_CASE("openmetrics: families, time stamps, counters and cumulative buckets", "[unit]") {
  BenchEngine bench = busy_engine("vllm-v1");
  RunMetrics sums;
  const Parsed file = metrics_of(bench, sums, 0.5);
  const RunSummary run = sums.result();
  CHECK(file.ends_with_eof);
  for (const Series& s : file.series) {
    INFO(s.name);
    CHECK_THAT(s.name, ContainsSubstring(R"(model_name="a \"model\"")"));
    const bool counts = s.name.find("_total{") != std::string::npos ||
                        s.name.find("_bucket{") != std::string::npos ||
                        s.name.find("_count{") != std::string::npos;
    for (std::size_t i = 0; i < s.samples.size(); ++i) {
      CHECK(s.samples[i].first == Approx(0.5 * static_cast<double>(i)));
      if (i > 0 && counts) CHECK(s.samples[i].second >= s.samples[i - 1].second);
    }
    CHECK(s.samples.back().first >= run.simulated_s);
  }
  CHECK(file.last("vllm:generation_tokens_total") == static_cast<double>(run.output_tokens));
  CHECK(file.last("vllm:prompt_tokens_total") == static_cast<double>(run.input_tokens));
  CHECK(file.last("vllm:num_preemptions_total") == static_cast<double>(run.engine.preemptions));
  CHECK(run.engine.preemptions > 0);
  CHECK(file.last("vllm:request_success_total") == static_cast<double>(run.completed));
  CHECK(file.last("vllm:num_requests_running") == 0);
  CHECK(file.last("vllm:kv_cache_usage_perc") == 0);
  const auto completed = static_cast<double>(run.completed);
  for (const char* name :
       {"time_to_first_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds",
        "request_inference_time_seconds", "request_prefill_time_seconds",
        "request_decode_time_seconds", "request_prompt_tokens", "request_generation_tokens"}) {
    INFO(name);
    const std::string family = std::string("vllm:") + name;
    CHECK(file.types.at(family) == "histogram");
    CHECK(file.last(family + "_count") == completed);
  }
  CHECK(file.last("vllm:time_to_first_token_seconds_sum") / completed ==
        Approx(run.ttft_ms.mean / 1e3).epsilon(1e-9));
  CHECK(file.last("vllm:e2e_request_latency_seconds_sum") / completed ==
        Approx(run.e2el_ms.mean / 1e3).epsilon(1e-9));
  CHECK(file.last("vllm:inter_token_latency_seconds_count") ==
        static_cast<double>(run.itl_ms.count));
  CHECK(file.last("vllm:iteration_tokens_total_count") == static_cast<double>(run.engine.steps));
}

TEST_CASE("openmetrics: buckets are cumulative, and the last is the count", "[unit]") {
  BenchEngine bench = busy_engine("vllm-v1");
  bench.scenario.cluster.replicas = 1;
  RunMetrics sums;
  const Parsed file = metrics_of(bench, sums, 1);
  double below = 0;
  std::string family;
  std::int64_t infinite = 0;
  for (const Series& s : file.series) {
    const auto bucket = s.name.find("_bucket{");
    if (bucket == std::string::npos) continue;
    if (s.name.substr(0, bucket) != family) below = 0;
    family = s.name.substr(0, bucket);
    INFO(s.name);
    CHECK(s.samples.back().second >= below);
    below = s.samples.back().second;
    if (s.name.find("le=\"+Inf\"") == std::string::npos) continue;
    ++infinite;
    CHECK(below == file.last(family + "_count"));
  }
  CHECK(infinite == static_cast<std::int64_t>(OpenMetrics::kHistograms));
}

TEST_CASE("openmetrics: without an interval, long runs are sampled more coarsely", "[unit]") {
  BenchEngine bench;
  bench.workload().num_prompts = 400;
  bench.workload().request_rate = 0.5;  // some 800 s
  RunMetrics sums;
  const Parsed file = metrics_of(bench, sums, std::nullopt);
  const auto& samples = file.series.front().samples;
  CHECK(samples.size() <= 240);
  CHECK(samples.size() > 100);
  const double interval = samples[1].first - samples[0].first;
  CHECK(interval == std::exp2(std::round(std::log2(interval))));
  for (std::size_t i = 1; i < samples.size(); ++i) {
    CHECK(samples[i].first - samples[i - 1].first == Approx(interval));
  }
  CHECK(file.last("vllm:request_success_total") == 400);
}

// A sequence that found 64 of its 100 tokens, was preempted, found none the second time, lost a chunk
// to another preemption, and was preempted once more when it had an answer.
TEST_CASE("openmetrics: a prompt counts once, however often it is computed", "[unit]") {
  const TempFolder folder;
  const std::string path = folder / "metrics.txt";
  OpenMetrics metrics(path, {"m", 1024, 16, 1.0});
  StepRecord record;
  record.duration = SimTime::from_ms(10);
  const auto plan = [&](SequenceFacts s) {
    s.request = 7;
    s.prefill = s.starts = true;
    metrics.on_plan({.replica = 0, .now = record.start, .sequences = {&s, 1}});
    return s;
  };
  const auto step = [&](SequenceFacts s, bool kept, bool has_output) {
    s.kept = kept;
    s.has_output = has_output;
    metrics.on_step_facts({record, {}, {&s, 1}, {}});
    record.prefill_tokens = s.tokens;
    metrics.on_step(record);
    record.start += record.duration;
  };
  metrics.on_queued(7, 0, SimTime(), SimTime(), SimTime());
  step(plan({.tokens = 20, .computed_before = 64}), true, false);
  step(plan({.tokens = 50, .computed_before = 0}), true, false);
  step(plan({.tokens = 50, .computed_before = 48}), false, false);
  step(plan({.tokens = 100, .computed_before = 0}), true, true);
  step(plan({.tokens = 110, .computed_before = 0}), true, true);
  metrics.on_end(record.start);
  metrics.commit();
  const Parsed file = parse(test::read_text(path));
  CHECK(file.last("vllm:prompt_tokens_total") == 100);
  CHECK(file.last("vllm:prompt_tokens_cached_total") == 64);
  CHECK(file.last("vllm:prefix_cache_queries_total") == 100);
}
