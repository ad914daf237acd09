#include "sim/metrics/utilisation.h"

#include <algorithm>
#include <cstddef>

namespace headway {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

}  // namespace

void Utilisation::on_step(const StepRecord& s) {
  if (s.replica >= busy_until_.size()) {
    busy_until_.resize(s.replica + 1);
    seen_.resize(s.replica + 1);
  }
  if (!seen_[s.replica]) {
    seen_[s.replica] = true;
    ++sum_.replicas;
  }
  SimTime& busy_until = busy_until_[s.replica];
  const SimTime end = s.start + s.duration;
  const std::int64_t covered =
      std::max<std::int64_t>(0, (end - std::max(s.start, busy_until)).ns());
  busy_until = std::max(busy_until, end);

  const auto weight = static_cast<double>(covered);
  busy_ns_ += covered;
  batch_ += weight * s.batch;
  running_ += weight * static_cast<double>(s.running);
  waiting_ += weight * static_cast<double>(s.waiting);
  kv_held_ += weight * static_cast<double>(s.kv_blocks);
  kv_total_ += weight * static_cast<double>(s.kv_blocks_total);
  slots_reserved_ += weight * static_cast<double>(s.kv_tokens_reserved);
  slots_stored_ += weight * static_cast<double>(s.kv_tokens_stored);
  if (s.kv_largest_free_run > 0) {
    const std::int64_t free = s.kv_blocks_total - s.kv_blocks;
    free_blocks_ += weight * static_cast<double>(free);
    scattered_blocks_ += weight * static_cast<double>(free - s.kv_largest_free_run);
  }

  ++sum_.steps;
  duration_ns_ += s.duration.ns();
  gpu_ns_ += s.gpu.ns();
  host_ns_ += s.host.ns();
  sum_.prefill_tokens += s.prefill_tokens;
  sum_.decode_tokens += s.decode_tokens;
  sum_.recomputed_tokens += s.recomputed_tokens;
  sum_.preemptions += s.preempted;
  sum_.kv_blocks_total = std::max(sum_.kv_blocks_total, s.kv_blocks_total);
  sum_.kv_peak_blocks = std::max(sum_.kv_peak_blocks, s.kv_blocks);
  if (s.kv_blocks_total > 0) {
    sum_.kv_peak_share = std::max(sum_.kv_peak_share, static_cast<double>(s.kv_blocks) /
                                                          static_cast<double>(s.kv_blocks_total));
  }
  for (std::size_t i = 0; i < class_us_.size(); ++i) class_us_[i] += s.by_class_us[i];
  for (std::size_t i = 0; i < coverage_us_.size(); ++i) coverage_us_[i] += s.coverage_us[i];
}

UtilisationSummary Utilisation::result(SimTime span) const {
  UtilisationSummary out = sum_;
  const auto busy = static_cast<double>(busy_ns_);
  out.busy_s = busy / 1e9;
  out.busy_share = ratio(out.busy_s, static_cast<double>(out.replicas) * span.seconds());
  out.mean_batch = ratio(batch_, busy);
  out.mean_step_ms = ratio(static_cast<double>(duration_ns_) / 1e6, static_cast<double>(out.steps));
  out.mean_running = ratio(running_, static_cast<double>(span.ns()));
  out.mean_waiting = ratio(waiting_, static_cast<double>(span.ns()));
  out.kv_mean_share = ratio(kv_held_, kv_total_);
  out.kv_internal_waste = slots_reserved_ > 0 ? 1.0 - slots_stored_ / slots_reserved_ : 0.0;
  out.kv_external_waste = ratio(scattered_blocks_, free_blocks_);
  out.gpu_s = static_cast<double>(gpu_ns_) / 1e9;
  out.host_s = static_cast<double>(host_ns_) / 1e9;
  double class_sum = 0, coverage_sum = 0;
  for (double us : class_us_) class_sum += us;
  for (double us : coverage_us_) coverage_sum += us;
  for (std::size_t i = 0; i < class_us_.size(); ++i) {
    out.class_share[i] = ratio(class_us_[i], class_sum);
  }
  for (std::size_t i = 0; i < coverage_us_.size(); ++i) {
    out.coverage_share[i] = ratio(coverage_us_[i], coverage_sum);
  }
  return out;
}

std::int64_t SecondPeaks::second_of(SimTime t) const { return (t - origin_).ns() / kNsPerSecond; }

void SecondPeaks::on_arrival(std::uint64_t /*request*/, SimTime now) {
  if (!started_) origin_ = now;
  started_ = true;
}

void SecondPeaks::on_tokens(std::int64_t count, SimTime now) {
  std::int64_t& tokens = tokens_[second_of(now)];
  tokens += count;
  max_tokens_ = std::max(max_tokens_, tokens);
}

void SecondPeaks::on_finish(const RequestRecord& r) {
  if (r.failed) return;
  ++change_[second_of(r.arrival)];
  --change_[second_of(r.finish) + 1];
}

std::int64_t SecondPeaks::max_concurrent_requests() const {
  std::int64_t now = 0, most = 0;
  change_.each([&](std::int64_t change) { most = std::max(most, now += change); });
  return most;
}

}  // namespace headway
