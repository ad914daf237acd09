#include "sim/metrics/utilisation.h"

#include <algorithm>
#include <cstddef>

#include "sim/core/wide.h"
#include "sim/metrics/decode_run.h"

namespace headway {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr SimTime kNotSeen = SimTime::from_ns(-1);

// sum of gaps[i] x (before + taken[i])
HEADWAY_WIDE std::int64_t weigh(const std::int32_t* gaps, const std::int32_t* taken,
                                std::int32_t before, std::size_t n) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::int64_t{gaps[i]} * (before + taken[i]);
  return sum;
}

// Blocks taken since the run's first step, times how long they were held within it, in ns.
std::int64_t blocks_by_time(const DecodeRunRecord& run) {
  if (run.blocks_taken.empty()) return 0;
  const std::size_t period = run.blocks_taken.size() - 1, steps = run.gaps_ns.size();
  std::int64_t sum = 0;
  std::int32_t before = 0;
  for (std::size_t i = 0; i < steps; i += period) {
    const std::size_t here = std::min(period, steps - i);
    sum += weigh(run.gaps_ns.data() + i, run.blocks_taken.data(), before, here);
    before += run.blocks_taken.back();
  }
  return sum;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

}  // namespace

std::int64_t Utilisation::cover(const StepRecord& s, SimTime start, SimTime end) {
  if (s.replica >= busy_until_.size()) busy_until_.resize(s.replica + 1, kNotSeen);
  SimTime& busy_until = busy_until_[s.replica];
  if (busy_until == kNotSeen) ++sum_.replicas;
  const std::int64_t covered =
      std::max<std::int64_t>(0, (end - std::max(start, busy_until)).ns());
  busy_until = std::max(busy_until, end);
  busy_ns_ += covered;
  return covered;
}

void Utilisation::on_step(const StepRecord& s) {
  const std::int64_t covered = cover(s, s.start, s.start + s.duration);
  const auto weight = static_cast<double>(covered);
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

// The same sums over all steps of the run; what is alike in all of them is added once.
void Utilisation::on_decode_run(const DecodeRunRecord& run) {
  on_step(run.first);
  const std::int64_t later = run.steps() - 1;
  if (later == 0) return;
  const StepRecord& s = run.first;
  const SimTime start = run.first_end();
  const auto weight = static_cast<double>(cover(s, start, run.last_end));
  const std::int64_t duration = (run.last_end - start).ns();
  const std::int64_t kv_blocks = s.kv_blocks - run.given_back.blocks;
  const std::int64_t most_kv = kv_blocks + run.most_blocks_taken_by(later);
  // Above the first step's, x ns: what is added with a step counts from its start to the end.
  const auto stored = static_cast<double>(run.steps() * duration - run.ends_after_first_ns);
  const auto taken = static_cast<double>(blocks_by_time(run));
  batch_ += weight * s.batch;
  running_ += weight * static_cast<double>(s.running - run.given_back.running);
  waiting_ += weight * static_cast<double>(s.waiting);
  kv_held_ += weight * static_cast<double>(kv_blocks) + taken;
  kv_total_ += weight * static_cast<double>(s.kv_blocks_total);
  const std::int64_t reserved = s.kv_tokens_reserved - run.given_back.blocks * run.block_size;
  slots_reserved_ += weight * static_cast<double>(reserved) +
                     taken * static_cast<double>(run.block_size);
  slots_stored_ += weight * static_cast<double>(s.kv_tokens_stored - run.given_back.tokens) +
                   stored * s.batch;
  if (s.kv_largest_free_run > 0) {  // contiguous: nothing is taken meanwhile
    const std::int64_t free = s.kv_blocks_total - kv_blocks;
    free_blocks_ += weight * static_cast<double>(free);
    scattered_blocks_ += weight * static_cast<double>(free - s.kv_largest_free_run);
  }
  sum_.steps += later;
  duration_ns_ += duration;
  gpu_ns_ += duration - later * s.host.ns();
  host_ns_ += later * s.host.ns();
  sum_.decode_tokens += later * s.decode_tokens;
  sum_.kv_peak_blocks = std::max(sum_.kv_peak_blocks, most_kv);
  if (s.kv_blocks_total > 0) {
    sum_.kv_peak_share = std::max(sum_.kv_peak_share, static_cast<double>(most_kv) /
                                                          static_cast<double>(s.kv_blocks_total));
  }
  const DecodeRunTimes times = run.prices->times(run);
  for (std::size_t i = 0; i < class_us_.size(); ++i) class_us_[i] += times.class_us[i];
  for (std::size_t i = 0; i < coverage_us_.size(); ++i) coverage_us_[i] += times.coverage_us[i];
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
  add_tokens(count, second_of(now));
}

void SecondPeaks::on_decode_run(const DecodeRunRecord& run) {
  SimTime end = run.first_end();  // of step i
  std::int64_t i = 0;
  while (i < run.steps()) {
    const std::int64_t second = second_of(end), first = i;
    const SimTime next = origin_ + SimTime::from_ns((second + 1) * kNsPerSecond);
    if (run.last_end < next) return add_tokens(run.first.batch * (run.steps() - first), second);
    while (end < next && ++i < run.steps()) {
      end += SimTime::from_ns(run.gaps_ns[static_cast<std::size_t>(i)]);
    }
    add_tokens(run.first.batch * (i - first), second);
  }
}

void SecondPeaks::add_tokens(std::int64_t count, std::int64_t second) {
  std::int64_t& tokens = tokens_[second];
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
