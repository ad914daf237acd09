#include "sim/report/openmetrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headway {
namespace {

constexpr std::size_t kSamples = 240;   // of all engines together, unless an interval was asked for
constexpr std::size_t kFewest = 24;     // of each
constexpr std::size_t kMetricsFlushBytes = 1 << 16;

using Bounds = std::vector<double>;

const Bounds kTtftBounds = {.001, .005, .01, .02, .04, .06, .08, .1, .25,  .5,   .75,
                            1,    2.5,  5,   7.5, 10,  20,  40,  80, 160,  640,  2560};
const Bounds kGapBounds = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                           .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
const Bounds kTimeBounds = {.3, .5, .8, 1,  1.5, 2,  2.5, 5,   10,  15,  20,
                            30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
const Bounds kIterationBounds = {1,   8,   16,   32,   64,   128,  256,
                                 512, 1024, 2048, 4096, 8192, 16384};

// 1, 2, 5, 10, 20, 50 ... up to the longest.
Bounds length_bounds(std::int32_t longest) {
  Bounds out;
  for (double decade = 1;; decade *= 10) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit * decade > std::max(longest, 1)) return out;
      out.push_back(digit * decade);
    }
  }
}

struct HistogramRow {
  const char* name;
  const char* help;
};
constexpr std::array<HistogramRow, OpenMetrics::kHistograms> kRows = {{
    {"vllm:time_to_first_token_seconds", "Time to first token"},
    {"vllm:inter_token_latency_seconds", "Gaps between consecutive tokens"},
    {"vllm:request_time_per_output_token_seconds", "Mean gap between the tokens of a request"},
    {"vllm:e2e_request_latency_seconds", "Arrival to last token"},
    {"vllm:request_queue_time_seconds", "Arrival to first scheduled"},
    {"vllm:request_inference_time_seconds", "First scheduled to last token"},
    {"vllm:request_prefill_time_seconds", "First scheduled to first token"},
    {"vllm:request_decode_time_seconds", "First to last token"},
    {"vllm:request_prompt_tokens", "Prompt tokens of a request"},
    {"vllm:request_generation_tokens", "Output tokens of a request"},
    {"vllm:iteration_tokens_total", "Tokens computed in an engine step"},
}};

void append(std::string& out, double value) {
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// A bound as client libraries write it: 1 is "1.0".
std::string bound_text(double bound) {
  std::string out;
  append(out, bound);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

void MetricHistogram::add(std::span<const double> bounds, double value, std::int64_t count) {
  const auto at = std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  counts_[static_cast<std::size_t>(at)] += count;
  sum_ += value * static_cast<double>(count);
}

OpenMetrics::OpenMetrics(const std::string& path, OpenMetricsOptions options)
    : file_(path),
      options_(std::move(options)),
      interval_s_(options_.interval_s.value_or(1.0)) {
  bounds_.fill(kTimeBounds);
  bounds_[kTtft] = kTtftBounds;
  bounds_[kItl] = bounds_[kTpot] = kGapBounds;
  bounds_[kPromptTokens] = bounds_[kGenerationTokens] = length_bounds(options_.max_model_len);
  bounds_[kIterationTokens] = kIterationBounds;
}

OpenMetrics::Engine& OpenMetrics::engine(std::uint32_t replica) {
  while (replica >= engines_.size()) {
    Engine& fresh = engines_.emplace_back();
    for (const Bounds& bounds : bounds_) fresh.now.histograms.emplace_back(bounds);
  }
  return engines_[replica];
}

void OpenMetrics::add(State& state, Histogram histogram, double value, std::int64_t count) {
  state.histograms[histogram].add(bounds_[histogram], value, count);
}

void OpenMetrics::sample_until(Engine& engine, SimTime now) {
  for (;;) {
    const SimTime due = SimTime::from_seconds(static_cast<double>(engine.next_tick) * interval_s_);
    if (due >= now) return;
    engine.samples.push_back({engine.next_tick++, engine.now});
    const std::size_t most = std::max(kFewest, kSamples / engines_.size());
    if (!options_.interval_s && engine.samples.size() > most) thin_out();
  }
}

// Half as many samples, twice as far apart.
void OpenMetrics::thin_out() {
  interval_s_ *= 2;
  for (Engine& engine : engines_) {
    std::erase_if(engine.samples, [](const Sample& sample) { return sample.tick % 2 != 0; });
    for (Sample& sample : engine.samples) sample.tick /= 2;
    engine.next_tick = (engine.next_tick + 1) / 2;
  }
}

void OpenMetrics::forget_prompts(std::uint64_t request) {
  auto at = prompts_.lower_bound({request, 0});
  while (at != prompts_.end() && at->first.first == request) at = prompts_.erase(at);
}

// Also one that begins anew, in an engine that knows nothing of the first time.
void OpenMetrics::on_queued(std::uint64_t request, std::uint32_t replica, SimTime, SimTime,
                            SimTime) {
  beginning_[request] = replica;
  forget_prompts(request);
}

// A prefix hit counts once, at the first admission.
void OpenMetrics::on_plan(const PlanFacts& plan) {
  for (const SequenceFacts& s : plan.sequences) {
    if (!s.starts) continue;
    const auto [prompt, fresh] = prompts_.try_emplace({s.request, s.sample});
    if (!fresh) continue;
    prompt->second.counted = s.computed_before;
    Engine& its = engine(plan.replica);
    sample_until(its, plan.now);
    its.now.prompt_tokens += s.computed_before;
    its.now.cached_tokens += s.computed_before;
  }
}

void OpenMetrics::on_step_facts(const StepFacts& step) {
  Engine& its = engine(step.record.replica);
  sample_until(its, step.record.start + step.record.duration);
  for (const SequenceFacts& s : step.sequences) {
    if (!s.prefill || !(s.kept || s.has_output)) continue;
    const auto found = prompts_.find({s.request, s.sample});
    if (found == prompts_.end() || found->second.whole) continue;
    Prompt& prompt = found->second;
    const std::int32_t computed = s.computed_before + s.tokens;
    its.now.prompt_tokens += std::max(computed - prompt.counted, 0);
    prompt.counted = std::max(computed, prompt.counted);
    prompt.whole = s.has_output;
  }
}

void OpenMetrics::on_first_token(std::uint64_t request, SimTime now, const LatencySplit& split) {
  const auto found = beginning_.find(request);
  if (found == beginning_.end()) return;  // another of its sequences was first
  Engine& its = engine(found->second);
  sample_until(its, now);
  SimTime ttft;
  for (const SimTime part : split) ttft += part;
  add(its.now, kTtft, ttft.seconds());
  beginning_.erase(found);
}

// Told before the step that they came out of, which has the replica.
void OpenMetrics::on_token_gaps(SimTime gap, std::int64_t count, SimTime) {
  gaps_.emplace_back(gap.seconds(), count);
}

void OpenMetrics::on_tokens(std::int64_t count, SimTime) { tokens_ += count; }

void OpenMetrics::on_step(const StepRecord& step) {
  Engine& its = engine(step.replica);
  sample_until(its, step.start + step.duration);
  State& now = its.now;
  for (const auto& [gap, count] : gaps_) add(now, kItl, gap, count);
  gaps_.clear();
  now.generation_tokens += tokens_;
  tokens_ = 0;
  now.running = step.running;
  now.waiting = step.waiting;
  now.kv_blocks = step.kv_blocks;
  now.kv_blocks_total = step.kv_blocks_total;
  now.preemptions += step.preempted;
  add(now, kIterationTokens, step.prefill_tokens + step.decode_tokens);
}

void OpenMetrics::on_finish(const RequestRecord& r) {
  beginning_.erase(r.id);
  forget_prompts(r.id);
  if (r.failed || r.replica == kNoReplica) return;
  Engine& its = engine(r.replica);
  sample_until(its, r.finish);
  State& now = its.now;
  ++now.success[r.finish_reason];
  now.running = std::max<std::int64_t>(now.running - 1, 0);
  if (now.running + now.waiting == 0) now.kv_blocks = 0;
  const SimTime decoding = r.finish - r.first_token;
  const std::int64_t tokens = r.output_tokens / std::max(r.answers, 1);
  if (tokens > 1) add(now, kTpot, decoding.seconds() / static_cast<double>(tokens - 1));
  add(now, kE2el, (r.finish - r.arrival).seconds());
  add(now, kQueueTime, (r.scheduled - r.arrival).seconds());
  add(now, kInferenceTime, (r.finish - r.scheduled).seconds());
  add(now, kPrefillTime, (r.first_token - r.scheduled).seconds());
  add(now, kDecodeTime, decoding.seconds());
  add(now, kPromptTokens, r.prompt_tokens);
  add(now, kGenerationTokens, r.output_tokens);
}

// One sample at or after the end has the totals.
void OpenMetrics::on_end(SimTime now) {
  const SimTime last = now + SimTime::from_seconds(interval_s_);
  for (Engine& engine : engines_) sample_until(engine, last);
}

void OpenMetrics::family(const char* name, const char* type, const char* help) {
  buffer_ += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

std::string OpenMetrics::labels(std::size_t engine) const {
  return "engine=\"" + std::to_string(engine) + "\",model_name=\"" + escaped(options_.model_name) +
         "\"";
}

void OpenMetrics::line(const std::string& name, const std::string& labels, double value,
                       std::int64_t tick) {
  buffer_ += name + "{" + labels + "} ";
  append(buffer_, value);
  buffer_ += ' ';
  append(buffer_, static_cast<double>(tick) * interval_s_);
  buffer_ += '\n';
  if (buffer_.size() < kMetricsFlushBytes) return;
  file_.write(buffer_);
  buffer_.clear();
}

void OpenMetrics::series(const char* name, Value value) {
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    for (const Sample& sample : engines_[e].samples) {
      line(name, labels(e), value(sample.state), sample.tick);
    }
  }
}

void OpenMetrics::write_success() {
  family("vllm:request_success", "counter", "Requests that ended well, by reason");
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    for (const auto& [reason, all] : engines_[e].now.success) {
      const std::string of = labels(e) + ",finished_reason=\"" + escaped(reason) + "\"";
      for (const Sample& sample : engines_[e].samples) {
        const auto found = sample.state.success.find(reason);
        const std::int64_t count = found == sample.state.success.end() ? 0 : found->second;
        line("vllm:request_success_total", of, static_cast<double>(count), sample.tick);
      }
    }
  }
}

// The buckets, count and sum of one moment stand together: they are one point of the metric.
void OpenMetrics::write_histogram(Histogram histogram) {
  const HistogramRow& row = kRows[histogram];
  family(row.name, "histogram", row.help);
  const Bounds& bounds = bounds_[histogram];
  const std::string name = row.name;
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    const std::string of = labels(e);
    std::vector<std::string> buckets;
    for (const double bound : bounds) buckets.push_back(of + ",le=\"" + bound_text(bound) + "\"");
    buckets.push_back(of + ",le=\"+Inf\"");
    for (const Sample& sample : engines_[e].samples) {
      const MetricHistogram& of_sample = sample.state.histograms[histogram];
      std::int64_t below = 0;
      for (std::size_t b = 0; b < buckets.size(); ++b) {
        below += of_sample.counts()[b];
        line(name + "_bucket", buckets[b], static_cast<double>(below), sample.tick);
      }
      line(name + "_count", of, static_cast<double>(below), sample.tick);
      line(name + "_sum", of, of_sample.sum(), sample.tick);
    }
  }
}

void OpenMetrics::commit() {
  const auto gauge = [&](const char* name, const char* help, Value value) {
    family(name, "gauge", help);
    series(name, value);
  };
  const auto counter = [&](const std::string& name, const char* help, Value value) {
    family(name.c_str(), "counter", help);
    series((name + "_total").c_str(), value);
  };
  gauge("vllm:num_requests_running", "Requests in the batch",
        [](const State& s) { return static_cast<double>(s.running); });
  gauge("vllm:num_requests_waiting", "Requests in line",
        [](const State& s) { return static_cast<double>(s.waiting); });
  gauge("vllm:kv_cache_usage_perc", "KV blocks in use, 1 = all",
        [](const State& s) {
          const auto total = static_cast<double>(std::max<std::int64_t>(s.kv_blocks_total, 1));
          return static_cast<double>(s.kv_blocks) / total;
        });
  family("vllm:cache_config_info", "gauge", "The KV cache");
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    const std::string of = labels(e) + ",block_size=\"" + std::to_string(options_.block_size) +
                           "\",num_gpu_blocks=\"" +
                           std::to_string(engines_[e].now.kv_blocks_total) + "\"";
    for (const Sample& sample : engines_[e].samples) {
      line("vllm:cache_config_info", of, 1, sample.tick);
    }
  }
  counter("vllm:num_preemptions", "Preemptions",
          [](const State& s) { return static_cast<double>(s.preemptions); });
  counter("vllm:prompt_tokens", "Prompt tokens, cached ones included",
          [](const State& s) { return static_cast<double>(s.prompt_tokens); });
  counter("vllm:prompt_tokens_cached", "Prompt tokens found in the prefix cache",
          [](const State& s) { return static_cast<double>(s.cached_tokens); });
  counter("vllm:generation_tokens", "Output tokens",
          [](const State& s) { return static_cast<double>(s.generation_tokens); });
  counter("vllm:prefix_cache_queries", "Prompt tokens looked up in the prefix cache",
          [](const State& s) { return static_cast<double>(s.prompt_tokens); });
  counter("vllm:prefix_cache_hits", "Of them, found",
          [](const State& s) { return static_cast<double>(s.cached_tokens); });
  write_success();
  for (std::size_t h = 0; h < kHistograms; ++h) write_histogram(static_cast<Histogram>(h));
  buffer_ += "# EOF\n";
  file_.write(buffer_);
  file_.commit();
}

}  // namespace headway
