#include "sim/metrics/run_metrics.h"

#include <cstddef>
#include <utility>

namespace headway {
namespace {

void fill_throughput(RunSummary& s, const SloCounter& slo) {
  if (s.duration_s > 0) {
    s.request_throughput = static_cast<double>(s.completed) / s.duration_s;
    s.output_throughput = static_cast<double>(s.output_tokens) / s.duration_s;
    s.total_token_throughput = static_cast<double>(s.input_tokens + s.output_tokens) / s.duration_s;
  }
  if (slo.any()) {
    s.request_goodput = s.duration_s > 0 ? static_cast<double>(slo.good()) / s.duration_s : 0.0;
  }
}

double part_ms(const RunSummary& s, LatencyPart part) {
  return s.attribution_ms[static_cast<std::size_t>(part)];
}

}  // namespace

RunMetrics::RunMetrics(MetricsOptions options)
    : keep_requests_(options.keep_requests), slo_(options.slo, options.classes),
      classes_(options.slo, std::move(options.classes), options.by_tenant) {}

void RunMetrics::on_arrival(std::uint64_t request, SimTime now) {
  latency_.on_arrival(request, now);
  peaks_.on_arrival(request, now);
  backlog_.on_arrival(request, now);
}

void RunMetrics::on_step(const StepRecord& step) { utilisation_.on_step(step); }

void RunMetrics::on_decode_run(const DecodeRunRecord& run) {
  latency_.on_decode_run(run);
  peaks_.on_decode_run(run);
  utilisation_.on_decode_run(run);
}

void RunMetrics::on_token_gaps(SimTime gap, std::int64_t count, SimTime now) {
  latency_.on_token_gaps(gap, count, now);
}

void RunMetrics::on_tokens(std::int64_t count, SimTime now) { peaks_.on_tokens(count, now); }

void RunMetrics::on_finish(const RequestRecord& request) {
  latency_.on_finish(request);
  slo_.on_finish(request);
  classes_.on_finish(request);
  peaks_.on_finish(request);
  backlog_.on_finish(request);
  if (keep_requests_) requests_.push_back(request);
}

void RunMetrics::on_end(SimTime now) {
  end_ = now;
  backlog_.on_end(now);
}

RunSummary RunMetrics::result() const {
  RunSummary s;
  s.arrived = latency_.arrived();
  s.completed = latency_.completed();
  s.failed = latency_.failed();
  s.input_tokens = latency_.input_tokens();
  s.output_tokens = latency_.output_tokens();
  s.cached_tokens = latency_.cached_tokens();
  s.simulated_s = end_.seconds();
  const SimTime span =
      s.completed > 0 ? latency_.last_finish() - latency_.first_arrival() : SimTime();
  s.duration_s = span.seconds();
  s.arrival_rate = backlog_.arrival_rate();
  s.max_output_tokens_per_s = peaks_.max_output_tokens();
  s.max_concurrent_requests = peaks_.max_concurrent_requests();
  s.ttft_ms = latency_.distribution_ms(LatencyMetric::kTtft);
  s.tpot_ms = latency_.distribution_ms(LatencyMetric::kTpot);
  s.itl_ms = latency_.distribution_ms(LatencyMetric::kItl);
  s.e2el_ms = latency_.distribution_ms(LatencyMetric::kE2el);
  s.exact_percentiles = latency_.exact(LatencyMetric::kE2el);
  s.exact_itl = latency_.exact(LatencyMetric::kItl);
  s.attribution_ms = latency_.mean_split_ms();
  s.mean_held_ms = latency_.mean_held_ms();
  s.slo = slo_.limits();
  s.slo_attainment = slo_.attainment();
  s.ttft_attainment = slo_.ttft_attainment();
  s.tpot_attainment = slo_.tpot_attainment();
  s.e2el_attainment = slo_.e2el_attainment();
  fill_throughput(s, slo_);
  s.classes = classes_.result(s.duration_s);
  s.engine = utilisation_.result(span);
  s.verdict = judge(backlog_,
                    {s.completed, s.e2el_ms.mean, part_ms(s, LatencyPart::kQueue),
                     part_ms(s, LatencyPart::kPreemption), s.engine.preemptions,
                     s.engine.recomputed_tokens, s.engine.prefill_tokens + s.engine.decode_tokens});
  return s;
}

}  // namespace headway
