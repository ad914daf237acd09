#include "sim/metrics/run_causes.h"

#include <algorithm>

#include "sim/metrics/decode_run.h"

namespace headway {
namespace {

constexpr double kMinuteNs = 60e9;
constexpr std::size_t kDecodeAttention = 2;  // OpClass

}  // namespace

RunCauses::Line& RunCauses::line(std::uint32_t replica) {
  if (replica >= lines_.size()) lines_.resize(replica + 1);
  return lines_[replica];
}

void RunCauses::advance(Line& line, SimTime now) {
  line.told[static_cast<std::size_t>(line.cause)] += now - line.at;
  line.at = now;
}

RunCauses::Minute& RunCauses::minute(SimTime now) {
  const auto number = static_cast<std::int64_t>(now.ns() / static_cast<std::int64_t>(kMinuteNs));
  if (number != minute_) {
    current_ = &minutes_[number];  // map nodes stay where they are
    minute_ = number;
  }
  return *current_;
}

void RunCauses::on_arrival(std::uint64_t, SimTime now) { ++minute(now).arrivals; }

void RunCauses::on_preemption(std::uint64_t, std::uint32_t, SimTime now) {
  ++minute(now).preemptions;
}

void RunCauses::on_queued(std::uint64_t request, std::uint32_t replica, SimTime now,
                          SimTime at_gateway, SimTime) {
  Line& its = line(replica);
  advance(its, now);
  InSystem& waiting = in_system_[request];
  waiting = {};  // a second time where its replica failed
  waiting.queue = its.told;
  waiting.queue[static_cast<std::size_t>(HeldBack::kPolicy)] -= at_gateway;
}

void RunCauses::on_plan(const PlanFacts& plan) {
  Line& its = line(plan.replica);
  advance(its, plan.now);
  its.cause = plan.held_back;
  derived_ = derived_ || (plan.derived && plan.held_back != HeldBack::kNobody);
  for (const SequenceFacts& s : plan.sequences) {
    if (!s.starts) continue;
    InSystem& admitted = in_system_[s.request];
    if (admitted.admitted) continue;
    admitted.admitted = true;
    for (std::size_t i = 0; i < kHeldBackCauses; ++i) {
      admitted.queue[i] = its.told[i] - admitted.queue[i];
    }
  }
}

void RunCauses::on_first_token(std::uint64_t request, SimTime, const LatencySplit& split) {
  InSystem& its = in_system_[request];
  if (!its.has_token) its.parts = split;
  its.has_token = true;
}

void RunCauses::on_finish(const RequestRecord& request) {
  const auto found = in_system_.find(request.id);
  if (found == in_system_.end()) return;
  if (!request.failed) {
    ++finished_;
    const Slow slow{request.first_token - request.arrival, found->second.parts,
                    found->second.queue};
    ttft_ns_ += static_cast<double>(slow.ttft.ns());
    for (std::size_t i = 0; i < kLatencyParts; ++i) {
      parts_ns_[i] += static_cast<double>(slow.parts[i].ns());
    }
    for (std::size_t i = 0; i < kHeldBackCauses; ++i) {
      queue_ns_[i] += static_cast<double>(slow.queue[i].ns());
    }
    note_tail(slow);
    note_slow(request);
  }
  in_system_.erase(found);
}

// How many 1 in 100 will be is not known before the end: the slowest are kept, as many as may be.
void RunCauses::note_tail(const Slow& request) {
  const auto slower = [](const Slow& a, const Slow& b) { return a.ttft > b.ttft; };
  tail_.push_back(request);
  std::push_heap(tail_.begin(), tail_.end(), slower);
  if (tail_.size() <= most_in_tail_) return;
  std::pop_heap(tail_.begin(), tail_.end(), slower);
  tail_.pop_back();
}

void RunCauses::note_slow(const RequestRecord& request) {
  const auto slower = [](const RequestRecord& a, const RequestRecord& b) {
    const SimTime x = a.finish - a.arrival, y = b.finish - b.arrival;
    return x != y ? x > y : a.id < b.id;
  };
  if (slowest_.size() == kSlowest && !slower(request, slowest_.back())) return;
  slowest_.insert(std::upper_bound(slowest_.begin(), slowest_.end(), request, slower), request);
  if (slowest_.size() > kSlowest) slowest_.pop_back();
}

void RunCauses::note_steps(const StepRecord& step, SimTime duration, std::int64_t steps,
                           double gpu_us, double decode_attention_us) {
  Minute& m = minute(step.start);
  m.prefill_tokens += step.prefill_tokens * steps;
  m.decode_tokens += step.decode_tokens * steps;
  const auto ns = static_cast<double>(duration.ns());
  m.running_ns += static_cast<double>(step.running) * ns;
  m.waiting_ns += static_cast<double>(step.waiting) * ns;
  if (step.kv_blocks_total > 0) {
    m.kv_peak_share = std::max(m.kv_peak_share, static_cast<double>(step.kv_blocks) /
                                                    static_cast<double>(step.kv_blocks_total));
  }
  const bool arithmetic = step.prefill_tokens + step.decode_tokens >= ridge_tokens_;
  const double products = arithmetic ? gpu_us - decode_attention_us : 0.0;
  const std::size_t prompts = step.prefill_tokens > 0 ? 1 : 0;
  compute_us_[prompts] += products;
  bandwidth_us_[prompts] += gpu_us - products;
}

void RunCauses::on_step(const StepRecord& step) {
  double gpu_us = 0;
  for (const double us : step.by_class_us) gpu_us += us;
  note_steps(step, step.duration, 1, gpu_us, step.by_class_us[kDecodeAttention]);
}

// A run is told in the minute that it begins in: it lasts for seconds at most.
void RunCauses::on_decode_run(const DecodeRunRecord& run) {
  double gpu_us = 0;
  for (const double us : run.gpu_us) gpu_us += us;
  const auto steps = static_cast<double>(run.steps());
  const double changing_us = gpu_us - run.fixed_us * steps;
  double attention_us = run.fixed_class_us[kDecodeAttention] * steps;
  if (run.changing_class == kDecodeAttention) attention_us += changing_us;
  note_steps(run.first, run.ends.back() - run.first.start, run.steps(), gpu_us, attention_us);
}

CauseMeans RunCauses::means(const std::vector<Slow>& requests, std::size_t count) {
  CauseMeans out;
  out.requests = static_cast<std::int64_t>(count);
  const double per_ms = 1e-6 / static_cast<double>(std::max<std::size_t>(count, 1));
  for (std::size_t r = 0; r < count; ++r) {
    out.ttft_ms += static_cast<double>(requests[r].ttft.ns()) * per_ms;
    for (std::size_t i = 0; i < kLatencyParts; ++i) {
      out.parts_ms[i] += static_cast<double>(requests[r].parts[i].ns()) * per_ms;
    }
    for (std::size_t i = 0; i < kHeldBackCauses; ++i) {
      out.queue_ms[i] += static_cast<double>(requests[r].queue[i].ns()) * per_ms;
    }
  }
  return out;
}

RunCausesResult RunCauses::result() const {
  RunCausesResult out;
  out.derived = derived_;
  out.slowest = slowest_;
  for (std::size_t i = 0; i < 2; ++i) {
    out.compute_s[i] = compute_us_[i] * 1e-6;
    out.bandwidth_s[i] = bandwidth_us_[i] * 1e-6;
  }
  std::vector<Slow> tail = tail_;
  std::sort(tail.begin(), tail.end(), [](const Slow& a, const Slow& b) { return a.ttft > b.ttft; });
  const auto wanted = static_cast<std::size_t>((finished_ + 99) / 100);
  out.whole_tail = wanted <= tail.size();
  const std::size_t count = std::min(wanted, tail.size());
  out.tail = means(tail, count);
  if (count > 0) out.tail_from_ms = tail[count - 1].ttft.ms();
  out.all.requests = finished_;
  const double per_ms = 1e-6 / static_cast<double>(std::max<std::int64_t>(finished_, 1));
  out.all.ttft_ms = ttft_ns_ * per_ms;
  for (std::size_t i = 0; i < kLatencyParts; ++i) out.all.parts_ms[i] = parts_ns_[i] * per_ms;
  for (std::size_t i = 0; i < kHeldBackCauses; ++i) out.all.queue_ms[i] = queue_ns_[i] * per_ms;
  for (const auto& [number, m] : minutes_) {
    const MinuteLoad load{number,
                          m.arrivals,
                          m.preemptions,
                          m.prefill_tokens,
                          m.decode_tokens,
                          m.running_ns / kMinuteNs,
                          m.waiting_ns / kMinuteNs,
                          m.kv_peak_share};
    const auto inside = [](const MinuteLoad& l) { return l.mean_running + l.mean_waiting; };
    if (number == minutes_.begin()->first || inside(load) > inside(out.busiest)) out.busiest = load;
  }
  return out;
}

}  // namespace headway
