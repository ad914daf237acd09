#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/output_file.h"
#include "sim/metrics/observer.h"

namespace headway {

// A histogram as Prometheus has it: how many values were at most each bound.
class MetricHistogram {
 public:
  explicit MetricHistogram(std::span<const double> bounds = {}) : counts_(bounds.size() + 1) {}
  void add(std::span<const double> bounds, double value, std::int64_t count = 1);
  const std::vector<std::int64_t>& counts() const { return counts_; }  // of each bucket alone
  double sum() const { return sum_; }

 private:
  std::vector<std::int64_t> counts_;  // the last one: above all bounds
  double sum_ = 0;
};

struct OpenMetricsOptions {
  std::string model_name;
  std::int32_t max_model_len = 0;  // bounds of the histograms of lengths
  std::int32_t block_size = 0;
  // Simulated seconds between samples. Unset: one, and twice that each time that there are more samples
  // than a file of some ten megabytes holds.
  std::optional<double> interval_s;
};

// --openmetrics: what a Prometheus would have scraped from the engines, in OpenMetrics text with
// simulated time stamps (seconds from the start), under the names and bucket bounds of vLLM V1 as of
// May 2026. A replica is an "engine". Ends with "# EOF"; appears at commit().
//
// `promtool tsdb create-blocks-from openmetrics FILE DIR` makes Prometheus blocks of it. Gauges stand
// as after the newest plan; a request's histograms count it when it ends, TTFT with the first token.
// Memory: some 2 KB a sample and engine.
class OpenMetrics final : public Observer {
 public:
  OpenMetrics(const std::string& path, OpenMetricsOptions options);

  bool hears_facts() const override { return true; }
  void on_queued(std::uint64_t request, std::uint32_t replica, SimTime now,
                 SimTime at_gateway, SimTime lost) override;
  void on_plan(const PlanFacts& plan) override;
  void on_step_facts(const StepFacts& step) override;
  void on_first_token(std::uint64_t request, SimTime now, const LatencySplit& split) override;
  void on_token_gaps(SimTime gap, std::int64_t count, SimTime now) override;
  void on_tokens(std::int64_t count, SimTime now) override;
  void on_step(const StepRecord& step) override;
  void on_finish(const RequestRecord& request) override;
  void on_end(SimTime now) override;

  // Writes everything; call it once, after the run.
  void commit();

  // The families of histograms; their names and bounds are in openmetrics.cpp.
  enum Histogram : std::size_t {
    kTtft, kItl, kTpot, kE2el, kQueueTime, kInferenceTime, kPrefillTime, kDecodeTime,
    kPromptTokens, kGenerationTokens, kIterationTokens, kHistograms
  };

 private:
  struct State {  // of one engine
    std::int64_t running = 0, waiting = 0, preemptions = 0;
    std::int64_t kv_blocks = 0, kv_blocks_total = 0;
    std::int64_t prompt_tokens = 0, cached_tokens = 0, generation_tokens = 0;
    std::map<std::string, std::int64_t> success;  // by finish reason
    std::vector<MetricHistogram> histograms;
  };
  struct Sample {
    std::int64_t tick = 0;  // at tick * interval
    State state;
  };
  struct Engine {
    State now;
    std::vector<Sample> samples;
    std::int64_t next_tick = 0;
  };
  Engine& engine(std::uint32_t replica);
  void add(State& state, Histogram histogram, double value, std::int64_t count = 1);
  // The samples of an engine that are due before something happens to it now.
  void sample_until(Engine& engine, SimTime now);
  void thin_out();

  using Value = double (*)(const State&);
  void family(const char* name, const char* type, const char* help);
  void series(const char* name, Value value);
  void write_success();
  void write_histogram(Histogram histogram);
  void line(const std::string& name, const std::string& labels, double value, std::int64_t tick);
  std::string labels(std::size_t engine) const;

  OutputFile file_;
  OpenMetricsOptions options_;
  std::array<std::vector<double>, kHistograms> bounds_;
  double interval_s_;
  std::vector<Engine> engines_;
  std::unordered_map<std::uint64_t, std::uint32_t> beginning_;  // requests without a token: replica
  // Of each sequence in the system, the prompt tokens counted: each once, however often it is computed.
  struct Prompt {
    std::int32_t counted = 0;
    bool whole = false;
  };
  void forget_prompts(std::uint64_t request);
  std::map<std::pair<std::uint64_t, std::int32_t>, Prompt> prompts_;  // by request and sample
  std::vector<std::pair<double, std::int64_t>> gaps_;  // of the step that is about to be told
  std::int64_t tokens_ = 0;                            // likewise
  std::string buffer_;
};

}  // namespace headway
